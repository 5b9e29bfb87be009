//! Files that the kernel sends, without their bytes passing through this process.
//!
//! The HTTP library takes bodies as bytes and writes them in order. For a part of a file it is
//! given a mark: bytes of one place in memory that is known here, as many as the file is to give.
//! Where the mark comes to be written, the kernel sends the file instead (sendfile(2)). The library
//! must therefore write what it is given from where it lies, in order and once, as HTTP/1.1 over a
//! connection that takes several pieces at once does; a mark that was not met in its place ends the
//! connection.

use bytes::Bytes;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt as _;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// Bytes in a file that is never changed.
#[derive(Debug, Clone)]
pub struct FileSpan {
    pub file: Arc<File>,
    pub offset: u64,
    /// 1 to [`SPAN`] bytes.
    pub len: usize,
}

/// The most bytes of a [`FileSpan`].
pub const SPAN: usize = 1 << 20;

/// What marks point to. It is never read, so that it takes no memory.
static PLACE: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(vec![0; SPAN]));

/// The most bytes that are copied at once where the kernel cannot send a file.
const COPIED: usize = 64 << 10;

fn is_mark(bytes: &[u8]) -> bool {
    !bytes.is_empty() && PLACE.as_ptr_range().contains(&bytes.as_ptr())
}

/// Told why what a mark stands for was not sent: its file, or whoever was to have it.
pub type FileFault = Arc<dyn Fn(&io::Error) + Send + Sync>;

/// What is to be sent, and who is told where it cannot be.
#[derive(Clone)]
struct Marked {
    span: FileSpan,
    fault: Option<FileFault>,
}

/// The files of one connection that are marked in the bytes which are yet to be written.
#[derive(Default)]
pub struct Handoff {
    waiting: Mutex<VecDeque<Marked>>,
}

impl Handoff {
    #[cfg(test)]
    fn put(&self, span: FileSpan) -> Bytes {
        self.put_all([span], None)
    }

    /// One mark of several parts that follow each other, of [`SPAN`] bytes together at most. It must
    /// be the next bytes of the connection after those before it.
    ///
    /// `fault` is told where they are not sent whole; the connection ends then.
    pub fn put_all(
        &self,
        spans: impl IntoIterator<Item = FileSpan>,
        fault: Option<&FileFault>,
    ) -> Bytes {
        let mut waiting = self.waiting();
        let before = waiting.len();
        waiting.extend(spans.into_iter().map(|span| Marked {
            span,
            fault: fault.cloned(),
        }));
        let bytes: usize = waiting.range(before..).map(|marked| marked.span.len).sum();
        PLACE.slice(..bytes.min(SPAN))
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Marked>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn passed(&self, bytes: usize) {
        let mut waiting = self.waiting();
        let Some(first) = waiting.front_mut().map(|marked| &mut marked.span) else {
            return;
        };
        first.offset += bytes as u64;
        first.len = first.len.saturating_sub(bytes);
        if first.len == 0 {
            waiting.pop_front();
        }
    }
}

/// A connection on which marks are met.
pub(crate) struct Direct {
    stream: TcpStream,
    handoff: Arc<Handoff>,
    /// Whether the kernel waits for whole segments: the parts that a mark has would each end with
    /// a small one.
    corked: bool,
}

impl Direct {
    pub(crate) fn new(stream: TcpStream, handoff: Arc<Handoff>) -> Self {
        Self {
            stream,
            handoff,
            corked: false,
        }
    }

    /// A socket that cannot be corked sends the same bytes in more segments.
    fn cork(&mut self, corked: bool) {
        if self.corked != corked {
            let _ = rustix::net::sockopt::set_tcp_cork(&self.stream, corked);
            self.corked = corked;
        }
    }

    /// Calls what writes to the socket until it has, or would have to wait.
    fn poll_socket(
        &self,
        context: &mut Context<'_>,
        call: impl Fn() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            match self.stream.try_io(Interest::WRITABLE, &call) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    /// Sends what a mark of so many bytes stands for, or a part of it.
    fn poll_send(&mut self, context: &mut Context<'_>, most: usize) -> Poll<io::Result<usize>> {
        let mut sent = 0;
        let stopped = loop {
            let Some(Marked { span, fault }) = self.handoff.waiting().front().cloned() else {
                break Poll::Ready(Err(io::Error::other("a mark without a file")));
            };
            let length = (most - sent).min(span.len);
            self.cork(self.corked || length < most);
            let polled = self.poll_socket(context, || send(&self.stream, &span, length));
            match polled.map(whole_file) {
                Poll::Ready(Ok(bytes)) => {
                    self.handoff.passed(bytes);
                    sent += bytes;
                }
                Poll::Ready(Err(error)) => {
                    // After a part it is met again.
                    if sent == 0
                        && let Some(fault) = fault
                    {
                        fault(&error);
                    }
                    break Poll::Ready(Err(error));
                }
                Poll::Pending => break Poll::Pending,
            }
            if sent == most {
                self.cork(false);
                return Poll::Ready(Ok(sent));
            }
        };
        // What stopped it is met again, by who asks for the rest.
        if sent > 0 {
            Poll::Ready(Ok(sent))
        } else {
            stopped
        }
    }
}

/// Errors: the file has ended before its mark.
fn whole_file(sent: io::Result<usize>) -> io::Result<usize> {
    match sent {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        sent => sent,
    }
}

/// Some bytes of a file, at most `most`; 0 where the file has ended.
fn send(to: &TcpStream, span: &FileSpan, most: usize) -> io::Result<usize> {
    let mut offset = span.offset;
    match rustix::fs::sendfile(to, &span.file, Some(&mut offset), most) {
        // The file system cannot send files.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => copy(to, span, most),
        done => Ok(done?),
    }
}

fn copy(to: &TcpStream, span: &FileSpan, most: usize) -> io::Result<usize> {
    let mut bytes = vec![0; most.min(COPIED)];
    let read = span.file.read_at(&mut bytes, span.offset)?;
    Ok(rustix::net::send(to, &bytes[..read], SendFlags::NOSIGNAL)?)
}

impl AsyncRead for Direct {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Direct {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let first = pieces
            .iter()
            .position(|piece| !piece.is_empty())
            .unwrap_or(0);
        let pieces = &pieces[first..];
        match pieces.iter().position(|piece| is_mark(piece)) {
            None => Pin::new(&mut this.stream).poll_write_vectored(context, pieces),
            Some(0) => this.poll_send(context, pieces[0].len()),
            // The kernel keeps the head until the file comes after it.
            Some(mark) => this.poll_socket(context, || {
                let flags = SendFlags::MORE | SendFlags::NOSIGNAL;
                Ok(sendmsg(
                    &this.stream,
                    &pieces[..mark],
                    &mut SendAncillaryBuffer::default(),
                    flags,
                )?)
            }),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// All that was given has been written before this is asked for.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.handoff.waiting().is_empty() {
            return Poll::Ready(Err(io::Error::other("a file whose mark was not met")));
        }
        Pin::new(&mut this.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::future::poll_fn;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpSocket};

    const FILE: usize = 3 << 20;

    fn pattern(at: usize) -> u8 {
        u8::try_from((at * 31 + at / 256) % 251).unwrap()
    }

    fn file() -> Arc<File> {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&(0..FILE).map(pattern).collect::<Vec<u8>>(), 0)
            .unwrap();
        Arc::new(file)
    }

    fn of_file(range: std::ops::Range<usize>) -> impl Iterator<Item = u8> {
        range.map(pattern)
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(work)
    }

    /// Both ends of a connection; little is on its way at once, so that writes are taken in parts.
    async fn connected() -> (Direct, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = TcpSocket::new_v4().unwrap();
        near.set_send_buffer_size(40 << 10).unwrap();
        let near = near.connect(listener.local_addr().unwrap()).await.unwrap();
        let far = listener.accept().await.unwrap().0;
        (Direct::new(near, Arc::default()), far)
    }

    #[derive(Debug, Clone)]
    enum Part {
        Bytes(Vec<u8>),
        Span(usize, usize),
        /// Under one mark.
        Spans(Vec<(usize, usize)>),
    }

    fn part() -> impl Strategy<Value = Part> {
        let span = (0..FILE - SPAN, 1..=SPAN).prop_map(|(offset, len)| Part::Span(offset, len));
        let short = (0..FILE - SPAN, 1..200usize).prop_map(|(offset, len)| Part::Span(offset, len));
        let pages = prop::collection::vec((0..FILE - SPAN, 1..=65_536usize), 2..16);
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300).prop_map(Part::Bytes),
            span,
            short,
            pages.prop_map(Part::Spans)
        ]
    }

    /// Writes pieces as the HTTP library does: as many as are left at once, from where the last
    /// write ended.
    async fn write_all(to: &mut Direct, pieces: &[Bytes]) -> io::Result<()> {
        let (mut at, mut within) = (0, 0);
        while at < pieces.len() {
            let slices: Vec<IoSlice<'_>> = pieces[at..]
                .iter()
                .enumerate()
                .map(|(index, piece)| {
                    IoSlice::new(if index == 0 { &piece[within..] } else { piece })
                })
                .collect();
            if slices.iter().all(|slice| slice.is_empty()) {
                break;
            }
            within +=
                poll_fn(|context| Pin::new(&mut *to).poll_write_vectored(context, &slices)).await?;
            while at < pieces.len() && within >= pieces[at].len() {
                within -= pieces[at].len();
                at += 1;
            }
        }
        to.flush().await
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_is_marked_comes_out_in_its_place(parts in prop::collection::vec(part(), 1..8)) {
            let file = file();
            let expected: Vec<u8> = parts.iter().flat_map(|part| match part {
                Part::Bytes(bytes) => bytes.clone(),
                Part::Span(offset, len) => of_file(*offset..offset + len).collect(),
                Part::Spans(spans) => spans.iter().flat_map(|(offset, len)| of_file(*offset..offset + len)).collect(),
            }).collect();
            let taken = run(async {
                let (mut near, mut far) = connected().await;
                let of = |(offset, len): &(usize, usize)| FileSpan { file: Arc::clone(&file), offset: *offset as u64, len: *len };
                let put = |part: &Part| match part {
                    Part::Bytes(bytes) => Bytes::from(bytes.clone()),
                    Part::Span(offset, len) => near.handoff.put(of(&(*offset, *len))),
                    Part::Spans(spans) => near.handoff.put_all(spans.iter().map(of), None),
                };
                let pieces: Vec<Bytes> = parts.iter().map(put).collect();
                let reading = tokio::spawn(async move {
                    let mut taken = Vec::new();
                    far.read_to_end(&mut taken).await.unwrap();
                    taken
                });
                write_all(&mut near, &pieces).await.unwrap();
                assert!(!near.corked);
                near.shutdown().await.unwrap();
                drop(near);
                reading.await.unwrap()
            });
            prop_assert!(taken == expected, "{} of {} bytes, or others", taken.len(), expected.len());
        }
    }

    #[test]
    fn a_file_that_ends_before_its_mark_ends_the_connection() {
        run(async {
            let (mut near, _far) = connected().await;
            let told = Arc::new(Mutex::new(Vec::new()));
            let kept = Arc::clone(&told);
            let fault: FileFault = Arc::new(move |error| kept.lock().unwrap().push(error.kind()));
            let span = FileSpan {
                file: file(),
                offset: FILE as u64 - 10,
                len: 20,
            };
            let mark = near.handoff.put_all([span], Some(&fault));
            let expected = io::ErrorKind::UnexpectedEof;
            let error = write_all(&mut near, &[mark]).await.unwrap_err();
            assert_eq!(error.kind(), expected);
            assert_eq!(*told.lock().unwrap(), [expected]);
        });
    }

    #[test]
    fn a_mark_that_is_copied_or_comes_twice_ends_the_connection() {
        run(async {
            let span = FileSpan {
                file: file(),
                offset: 0,
                len: 20,
            };
            let (mut near, _far) = connected().await;
            let copied = Bytes::copy_from_slice(&near.handoff.put(span.clone()));
            let error = write_all(&mut near, &[copied]).await.unwrap_err();
            assert_eq!(error.to_string(), "a file whose mark was not met");
            let (mut near, _far) = connected().await;
            let mark = near.handoff.put(span);
            let error = write_all(&mut near, &[mark.clone(), mark])
                .await
                .unwrap_err();
            assert_eq!(error.to_string(), "a mark without a file");
        });
    }

    #[test]
    fn where_the_kernel_cannot_send_a_file_it_is_copied() {
        run(async {
            let (near, mut far) = connected().await;
            let span = FileSpan {
                file: file(),
                offset: 1000,
                len: 500,
            };
            assert_eq!(
                poll_fn(|context| near.poll_socket(context, || copy(&near.stream, &span, 500)))
                    .await
                    .unwrap(),
                500
            );
            let mut taken = vec![0; 500];
            far.read_exact(&mut taken).await.unwrap();
            assert!(taken.into_iter().eq(of_file(1000..1500)));
        });
    }
}
