//! Live metrics in Prometheus text, served on loopback unless told otherwise.

use crate::exit::Usage;
use crate::run::switch;
use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};
use record::{Interval, Measurements};
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What has been counted so far, shared with the endpoint.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Mutex<Measurements>>);

impl Metrics {
    pub(crate) fn add(command: Command) -> Command {
        command
            .arg(switch(
                "prometheus",
                "Serve live metrics at /metrics while the run goes on",
            ))
            .arg(
                Arg::new("prometheus-port")
                    .long("prometheus-port")
                    .value_name("PORT")
                    .value_parser(value_parser!(u16))
                    .help("Port of the metrics [default: 9090]"),
            )
            .arg(
                Arg::new("prometheus-address")
                    .long("prometheus-address")
                    .value_name("IP")
                    .value_parser(value_parser!(IpAddr))
                    .help("Address of the metrics [default: 127.0.0.1]"),
            )
    }

    /// Starts the endpoint if it was asked for.
    ///
    /// # Errors
    /// The address is taken or not ours.
    pub(crate) fn start(matches: &ArgMatches) -> Result<Option<Self>> {
        let port = matches.get_one::<u16>("prometheus-port").copied();
        let address = matches.get_one::<IpAddr>("prometheus-address").copied();
        if !matches.get_flag("prometheus") {
            if port.is_some() || address.is_some() {
                return Err(Usage(
                    "--prometheus-port and --prometheus-address need --prometheus".into(),
                )
                .into());
            }
            return Ok(None);
        }
        let place = SocketAddr::new(
            address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            port.unwrap_or(9090),
        );
        let listener = TcpListener::bind(place).map_err(|e| {
            Usage(format!(
                "--prometheus: cannot listen on {place}: {e}; choose another --prometheus-port"
            ))
        })?;
        let metrics = Self(Arc::default());
        let served = metrics.clone();
        std::thread::Builder::new()
            .name("metrics".into())
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    let _a_client_that_leaves_costs_nothing = served.answer(stream);
                }
            })?;
        Ok(Some(metrics))
    }

    pub(crate) fn add_interval(&self, interval: &Interval) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .merge(&interval.operations);
    }

    fn answer(&self, stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.set_write_timeout(Some(Duration::from_secs(1)))?;
        let mut request = String::new();
        let mut reader = BufReader::new(std::io::Read::take(&stream, 8192));
        reader.read_line(&mut request)?;
        let (status, body) = if request.starts_with("GET /metrics ") {
            let counted = self
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            ("200 OK", report::prometheus(&counted, &[]))
        } else {
            ("404 Not Found", "the metrics are at /metrics\n".to_owned())
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        (&stream).write_all(head.as_bytes())?;
        (&stream).write_all(body.as_bytes())
    }
}
