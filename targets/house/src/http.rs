//! HTTP over any connection: each request is numbered, made to misbehave where that was commanded,
//! answered by a site, and counted once.

use crate::StdError;
use crate::buffers::WireMemory;
use crate::handoff::{Direct, Handoff};
use crate::inbound::{Inbound, Waits};
use crate::injector::Throttle;
use crate::listener::{Connection, Ending, Host, Peer};
use crate::metrics::{Metrics, Misbehaved, Sighting};
use crate::mishaps::{Answering, Mishaps, UnderWay};
use crate::orders::Orders;
use crate::outbound::{Outbound, Told, Visit};
use crate::pages::OWN_PAGES;
use crate::patience::{Patience, Patient};
use bytes::Bytes;
use http::{Method, Request, Response, Uri, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep};

/// What a server is about: it answers requests, and knows nothing of sockets.
///
/// The extensions of a request hold its [`Peer`], its [`Sighting`], which is to be told what the
/// request is, the [`UnderWay`] that tells operators why it is not done, and where the kernel can
/// send files the [`Handoff`] of its connection.
pub trait Site: Send + Sync + 'static {
    type Body: Body<Data = Bytes, Error = StdError> + Send + Unpin + 'static;

    /// What kind of operation a request is, from its line alone: by these names operations are made
    /// to misbehave.
    fn kind(&self, method: &Method, uri: &Uri) -> &'static str;

    /// The answer to a request, and who is told when it has gone out. What is left of the body of a
    /// request that is answered without success is read.
    fn answer(
        &self,
        request: Request<Option<Inbound>>,
        asked: Asked,
    ) -> impl Future<Output = (Response<Self::Body>, Option<Told>)> + Send;
}

/// What is known of a request besides what it says.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// How many came before it.
    pub number: u64,
    pub peer: Peer,
    /// It is to be refused with this status on command.
    pub failure: Option<u16>,
}

/// A site that is spoken to by HTTP.
pub struct Http<S> {
    pub site: S,
    metrics: Arc<Metrics>,
    orders: Arc<Orders>,
    mishaps: Arc<Mishaps>,
    /// How long a client that is waited for has.
    idle: Duration,
    /// Where connections get the memory for what comes and what goes out, if not as they like.
    buffers: Option<Arc<WireMemory>>,
    numbers: AtomicU64,
}

impl<S: Site> Http<S> {
    /// `idle` is how long a head may take, and each 16 KiB of a body or an answer.
    pub fn new(site: S, metrics: Arc<Metrics>, orders: Arc<Orders>, idle: Duration) -> Self {
        Self {
            site,
            metrics,
            orders,
            mishaps: Arc::new(Mishaps::untold()),
            idle,
            buffers: None,
            numbers: AtomicU64::new(0),
        }
    }

    /// The same with what breaks off told.
    #[must_use]
    pub fn telling(self, mishaps: Arc<Mishaps>) -> Self {
        Self { mishaps, ..self }
    }

    /// The same with a limit to the memory of all connections, instead of as much as is quickest for
    /// each.
    #[must_use]
    pub fn holding_little(self) -> Self {
        Self {
            buffers: Some(Arc::default()),
            ..self
        }
    }

    /// Answers one request. Every request is answered and counted once.
    async fn answer(
        &self,
        mut request: Request<Incoming>,
        peer: Peer,
    ) -> Response<Outbound<S::Body>> {
        let begun = Instant::now();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let kind = self.site.kind(request.method(), request.uri());
        // What this target says of itself is never slowed or damaged: it is the account of what was.
        let is_own_page = request.uri().path().starts_with(OWN_PAGES);
        let injector = self.orders.standing().filter(|_| !is_own_page);
        let decision = match &injector {
            Some(injector) => {
                let decision = injector.decide(kind, number);
                if let Some(asked) = injector.wait(kind, &decision, begun).await {
                    self.metrics.delayed(asked, begun.elapsed());
                }
                decision
            }
            None => Default::default(),
        };
        let visit = Visit {
            metrics: Arc::clone(&self.metrics),
            kind,
            seen_as: (!is_own_page).then_some(kind),
            begun,
            sighting: Sighting::new(),
            _flight: self.metrics.begin(),
        };
        if decision.error.is_some() {
            self.metrics.misbehaved(Misbehaved::Failed);
        }
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(visit.sighting.clone());
        let address = peer.address;
        let under_way = UnderWay::new(&self.mishaps, request.method(), request.uri(), address);
        request.extensions_mut().insert(under_way.clone());
        let waits = Waits::of(request.headers());
        // What is refused on command is read as fast as it comes.
        let throttle = injector.clone().filter(|_| decision.error.is_none());
        let throttle = throttle.map(|injector| Throttle::new(injector, kind));
        let (parts, body) = request.into_parts();
        let inbound = self.inbound(body, throttle, &under_way);
        let asked = Asked {
            number,
            peer,
            failure: decision.error,
        };
        let answering = Answering::new(under_way.clone());
        let (response, told) = self
            .site
            .answer(Request::from_parts(parts, inbound.clone()), asked)
            .await;
        answering.done();
        if let Some(inbound) = inbound.filter(|_| !response.status().is_success()) {
            inbound.drain(waits).await;
        }
        let (parts, body) = response.into_parts();
        let outbound = Outbound::new(body, &parts, visit, told, under_way);
        let outbound = match &injector {
            Some(injector) => outbound.shaped(injector, &decision),
            None => outbound,
        };
        Response::from_parts(parts, outbound)
    }

    /// The body of a request as a site reads it: with patience, and as fast as was commanded.
    fn inbound(
        &self,
        body: Incoming,
        throttle: Option<Throttle>,
        under_way: &UnderWay,
    ) -> Option<Inbound> {
        let wanted_by = under_way.clone();
        (!body.is_end_stream())
            .then(|| Inbound::new(body, Patience::new(self.idle), throttle, wanted_by))
    }

    /// Answers all requests of one connection. With a handoff, `stream` is the `Direct` of it.
    async fn converse<T>(
        self: Arc<Self>,
        stream: T,
        peer: Peer,
        mut ending: Ending,
        handoff: Option<Arc<Handoff>>,
    ) where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let idle = self.idle;
        let buffer = self.buffers.as_ref().map(WireMemory::lend);
        let spoken = Arc::new(AtomicBool::new(false));
        let heard = Arc::clone(&spoken);
        let answer = service_fn(move |mut request: Request<Incoming>| {
            heard.store(true, Ordering::Relaxed);
            // What is to be slowed or damaged goes through our hands, and so does what the
            // protocol cuts into frames.
            if let Some(handoff) = handoff
                .as_ref()
                .filter(|_| request.version() <= Version::HTTP_11 && !self.orders.misbehaves())
            {
                request.extensions_mut().insert(Arc::clone(handoff));
            }
            let this = Arc::clone(&self);
            async move { Ok::<_, Infallible>(this.answer(request, peer).await) }
        });
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(idle)
            // Who has sent all of a request may close that half; whether the other half is open
            // shows when the answer is written.
            .half_close(true);
        if let Some(buffer) = &buffer {
            let window = u32::try_from(2 * buffer.bytes).unwrap_or(u32::MAX);
            builder.http1().max_buf_size(buffer.bytes);
            builder
                .http2()
                .initial_stream_window_size(window)
                .initial_connection_window_size(window)
                .max_send_buf_size(buffer.bytes);
        }
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(128)
            .keep_alive_interval(idle)
            .keep_alive_timeout(idle);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), answer));
        // A client that breaks off is its own matter. The library waits without end for the first
        // bytes, from which it tells the version.
        tokio::select! {
            _ = connection.as_mut() => return,
            () = ending.begins() => {}
            () = silence(&spoken, idle) => return,
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }

    /// Speaks with a client whose bytes come from elsewhere than a listener.
    pub async fn speak<T>(self: Arc<Self>, stream: T, peer: Peer, ending: Ending)
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let stream = Patient::new(stream, self.idle);
        self.converse(stream, peer, ending, None).await;
    }
}

impl<S: Site> Host for Http<S> {
    fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    async fn receive(self: Arc<Self>, connection: Connection, peer: Peer, ending: Ending) {
        match connection {
            Connection::Tcp(stream) => {
                let handoff = Arc::<Handoff>::default();
                let stream = Direct::new(stream, Arc::clone(&handoff));
                let stream = Patient::new(stream, self.idle);
                self.converse(stream, peer, ending, Some(handoff)).await;
            }
            Connection::Unix(stream) => self.speak(stream, peer, ending).await,
            Connection::Tls(stream) => self.converse(*stream, peer, ending, None).await,
        }
    }
}

/// Ends where nothing was asked for this long after the connection was made.
async fn silence(spoken: &AtomicBool, idle: Duration) {
    sleep(idle).await;
    if spoken.load(Ordering::Relaxed) {
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::OperationName;
    use crate::pages::{About, Pages};
    use http_body::{Frame, SizeHint};
    use misbehave::{Misbehaviour, Vocabulary};
    const KINDS: [&str; 2] = ["get", "put"];
    use std::net::Ipv4Addr;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    /// What this site takes in and gives back, once.
    struct Whole(Option<Bytes>);

    impl Body for Whole {
        type Data = Bytes;
        type Error = StdError;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
            Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
        }

        fn is_end_stream(&self) -> bool {
            self.0.is_none()
        }

        fn size_hint(&self) -> SizeHint {
            SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
        }
    }

    /// Answers with what was sent, `/late` after a second.
    struct Echo;

    impl Site for Echo {
        type Body = Whole;

        fn kind(&self, method: &Method, _: &Uri) -> &'static str {
            if method == Method::PUT { "put" } else { "get" }
        }

        async fn answer(
            &self,
            request: Request<Option<Inbound>>,
            asked: Asked,
        ) -> (Response<Whole>, Option<Told>) {
            if request.uri().path() == "/late" {
                sleep(Duration::from_secs(1)).await;
            }
            let (parts, body) = request.into_parts();
            let sighting = parts.extensions.get::<Sighting>().unwrap();
            sighting.is(usize::from(parts.method == Method::PUT));
            let mut out = Vec::new();
            if let Some(mut body) = body {
                while let Some(frame) =
                    std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
                {
                    out.extend_from_slice(frame.unwrap().data_ref().unwrap());
                }
                sighting.took(out.len() as u64);
            }
            let mut response = Response::new(Whole(Some(out.into())));
            if let Some(status) = asked.failure {
                *response.status_mut() = status.try_into().unwrap();
            }
            (response, None)
        }
    }

    impl About for Echo {
        fn check(&self) -> Result<(), String> {
            Err("it is full".into())
        }
        fn counters(&self) -> Vec<crate::metrics::Counter> {
            vec![("syncs_total", 2)]
        }
        fn is_admin_secret(&self, secret: &str) -> bool {
            secret == "s"
        }
    }

    fn house(misbehave: &str) -> Arc<Http<Echo>> {
        let of = |name, kind| OperationName { name, kind };
        let metrics = Metrics::new("echo", [of("Get", "get"), of("Put", "put")]);
        let models = Misbehaviour::parse(misbehave, &Vocabulary::http(&KINDS)).unwrap();
        let wakes = crate::wake::Wakes::of_runtime();
        let orders = Arc::new(Orders::new(&KINDS, Some(models), wakes));
        let idle = Duration::from_secs(60);
        Arc::new(Http::new(Echo, Arc::new(metrics), orders, idle))
    }

    async fn connect(house: &Arc<Http<Echo>>) -> (DuplexStream, tokio::task::JoinHandle<()>) {
        let (near, far) = duplex(1 << 16);
        let peer = Peer {
            address: Ipv4Addr::LOCALHOST.into(),
            tls: false,
        };
        let (goes_on, ending) = Ending::new();
        let spoken = Arc::clone(house).speak(far, peer, ending);
        let served = tokio::spawn(async move {
            spoken.await;
            drop(goes_on);
        });
        (near, served)
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_leaves_before_it_is_answered_is_in_flight_until_the_answer_is_there() {
        let house = house("put.latency=1ms");
        let (mut near, served) = connect(&house).await;
        near.write_all(b"GET /late HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        while house.metrics().in_flight() == 0 {
            tokio::task::yield_now().await;
        }
        drop(near);
        served.await.unwrap();
        assert_eq!(house.metrics().in_flight(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_asked_and_closed_that_half_is_answered() {
        let house = house("put.latency=1s");
        let (mut near, served) = connect(&house).await;
        near.write_all(b"PUT /late HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc")
            .await
            .unwrap();
        near.shutdown().await.unwrap();
        let mut heard = String::new();
        near.read_to_string(&mut heard).await.unwrap();
        served.await.unwrap();
        assert!(
            heard.starts_with("HTTP/1.1 200") && heard.ends_with("abc"),
            "{heard}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_site_answered_and_what_was_refused_on_command_is_seen_by_kind() {
        let house = house("get.errors=100%:503,latency=5ms");
        let (mut near, served) = connect(&house).await;
        near.write_all(b"PUT /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabcGET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut heard = String::new();
        near.read_to_string(&mut heard).await.unwrap();
        served.await.unwrap();
        assert!(
            heard.contains("abc") && heard.contains("HTTP/1.1 503"),
            "{heard}"
        );
        let pages = Pages {
            metrics: Arc::clone(house.metrics()),
            about: Arc::new(Echo),
            orders: Arc::clone(&house.orders),
        };
        let seen: serde_json::Value =
            serde_json::from_str(&pages.page("seen").unwrap().text).unwrap();
        let of = |kind: &str| {
            ["count", "bytes", "errors"].map(|what| seen["operations"][kind][what].as_u64())
        };
        assert_eq!(of("put"), [Some(1), Some(3), Some(0)]);
        assert_eq!(of("get"), [Some(0), Some(0), Some(1)]);
        assert_eq!(seen["counters"]["fathom_echo_syncs_total"], 2);
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_target_says_of_itself_does_not_misbehave() {
        let house = house("get.errors=100%:503,get.truncate=100%,latency=1h");
        let (mut near, served) = connect(&house).await;
        let begun = tokio::time::Instant::now();
        near.write_all(b"GET /fathom/seen HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut heard = String::new();
        near.read_to_string(&mut heard).await.unwrap();
        served.await.unwrap();
        assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
        assert!(begun.elapsed() < Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_runs_is_told_to_misbehave_and_to_stop() {
        let house = house("get.errors=100%:503");
        assert_eq!(house.orders.generation(), 1);
        let status = async |house: &Arc<Http<Echo>>| {
            let (mut near, served) = connect(house).await;
            near.write_all(
                b"PUT /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 3\r\n\r\nabc",
            )
            .await
            .unwrap();
            let mut heard = String::new();
            near.read_to_string(&mut heard).await.unwrap();
            served.await.unwrap();
            heard[9..12].to_owned()
        };
        assert_eq!(status(&house).await, "200");
        assert_eq!(house.orders.change("put.errors=100%:507"), Ok(2));
        assert_eq!(status(&house).await, "507");
        assert!(house.orders.change("get.lost=1%").is_err());
        assert!(
            house
                .orders
                .change("latency=empirical:/etc/passwd")
                .is_err()
        );
        assert_eq!(status(&house).await, "507");
        assert_eq!(house.orders.change("none"), Ok(3));
        assert_eq!(status(&house).await, "200");
        assert!(!house.orders.misbehaves());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_was_cut_on_command_is_seen_as_an_error() {
        let house = house("put.truncate=100%");
        let (mut near, served) = connect(&house).await;
        near.write_all(b"PUT /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc")
            .await
            .unwrap();
        let _it_is_cut = near.read_to_end(&mut Vec::new()).await;
        served.await.unwrap();
        let seen: serde_json::Value = serde_json::from_str(&house.metrics().seen(&[])).unwrap();
        let put = &seen["operations"]["put"];
        assert_eq!([&put["count"], &put["errors"]], [0, 1]);
    }
}
