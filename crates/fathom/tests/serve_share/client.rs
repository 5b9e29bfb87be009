//! A server of its own for each test, and a client that says exactly what it is told to.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub(crate) const SECRET: &str = "a secret of tests";

pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start(db: &Path, options: &[&str]) -> Self {
        Self::begun(Command::new(env!("CARGO_BIN_EXE_fathom")), db, options)
    }

    /// The same with its log in a file.
    pub(crate) fn start_logged(db: &Path, options: &[&str], log: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
        command.stderr(std::fs::File::create(log).unwrap());
        Self::begun(command, db, options)
    }

    /// The same in a control group.
    pub(crate) fn start_in(group: &Path, db: &Path, options: &[&str]) -> Self {
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""])
            .arg(group)
            .arg(env!("CARGO_BIN_EXE_fathom"));
        Self::begun(command, db, options)
    }

    fn begun(mut command: Command, db: &Path, options: &[&str]) -> Self {
        let mut child = command
            .args(["serve", "share", "--listen", "127.0.0.1:0", "--db"])
            .arg(db)
            .args(options)
            .env("PS_SHARED_SECRET", SECRET)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim().strip_prefix("listening on http://");
        let address = address
            .unwrap_or_else(|| panic!("{line:?}"))
            .parse()
            .unwrap();
        Self { child, address }
    }

    /// Somebody who has logged in.
    pub(crate) fn owner(&self) -> Client {
        let mut client = self.guest();
        let said = format!("{{\"sharedSecretKey\":\"{SECRET}\"}}");
        let answer = client.json("POST", "/api/auth", &said);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let cookie = answer.headers["set-cookie"]
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        client.cookie = Some(cookie);
        client
    }

    pub(crate) fn guest(&self) -> Client {
        Client {
            address: self.address,
            cookie: None,
        }
    }

    /// The most memory that it had.
    pub(crate) fn most_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
        kib * 1024
    }

    /// Ends it as its operator does.
    pub(crate) fn end(mut self) {
        let pid = self.child.id().to_string();
        Command::new("kill").arg(pid).status().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _ended_already = self.child.wait();
    }
}

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    cookie: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The id of an upload or of a guest link.
    pub(crate) fn id(&self) -> String {
        let value: serde_json::Value = serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{} {}", self.status, self.text()));
        value["id"].as_str().unwrap().to_owned()
    }
}

/// The form of one file.
pub(crate) fn form(name: &str, bytes: &[u8]) -> Vec<u8> {
    let head = format!(
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    );
    [head.as_bytes(), bytes, b"\r\n--b--\r\n"].concat()
}

pub(crate) const FORM: (&str, &str) = ("content-type", "multipart/form-data; boundary=b");

impl Client {
    /// Opens a connection and says the head of a request.
    pub(crate) fn begin(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> TcpStream {
        self.try_begin(method, path, headers).unwrap()
    }

    fn try_begin(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(self.address)?;
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nhost: share.test\r\nconnection: close\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if let Some(cookie) = &self.cookie {
            head += &format!("cookie: {cookie}\r\n");
        }
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        Ok(stream)
    }

    /// The id of an upload to a server that may go at any time; `None` where it did.
    pub(crate) fn try_upload(&self, bytes: &[u8]) -> Option<String> {
        let body = form("k", bytes);
        let length = body.len().to_string();
        let headers = [FORM, ("content-length", length.as_str())];
        let mut stream = self.try_begin("POST", "/api/entry", &headers).ok()?;
        stream.write_all(&body).ok()?;
        Some(try_read(stream)?.id())
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let length = body.len().to_string();
        let mut headers = headers.to_vec();
        if method != "GET" && method != "HEAD" {
            headers.push(("content-length", &length));
        }
        let mut stream = self.begin(method, path, &headers);
        // A server that refuses a body answers before it has come.
        let _sent = stream.write_all(body);
        read(stream, method)
    }

    pub(crate) fn call(&self, method: &str, path: &str) -> Answer {
        self.send(method, path, &[], b"")
    }

    pub(crate) fn json(&self, method: &str, path: &str, body: &str) -> Answer {
        self.send(
            method,
            path,
            &[("content-type", "application/json")],
            body.as_bytes(),
        )
    }

    pub(crate) fn upload(&self, name: &str, bytes: &[u8]) -> Answer {
        self.send("POST", "/api/entry", &[FORM], &form(name, bytes))
    }
}

/// Reads an answer to the end of its connection.
pub(crate) fn read(stream: TcpStream, method: &str) -> Answer {
    let answer = try_read(stream).expect("the server answers");
    if method != "HEAD"
        && let Some(length) = answer.headers.get("content-length")
    {
        assert_eq!(answer.body.len().to_string(), *length);
    }
    answer
}

/// `None` where no whole head came.
fn try_read(mut stream: TcpStream) -> Option<Answer> {
    let mut bytes = Vec::new();
    let _a_reset_comes_after_the_answer = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    Some(Answer {
        status,
        headers,
        body: bytes[end + 4..].to_vec(),
    })
}
