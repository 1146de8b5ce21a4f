//! A small HTTP server on loopback that does what a test tells it, faults included.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// Path and query, percent-encoded as they came.
    pub target: String,
    /// Names in lowercase.
    pub headers: Vec<(String, String)>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the path without its query, decoded.
    pub fn path(&self) -> String {
        decode(self.target.split('?').next().unwrap())
    }

    /// Returns a parameter of the query, decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        let query = self.target.split_once('?')?.1;
        query.split('&').find_map(|pair| {
            let (known, value) = pair.split_once('=').unwrap_or((pair, ""));
            (known == name).then(|| decode(value))
        })
    }
}

/// What a server does about a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Answers. Content-Length is added, and the body left out for HEAD.
    Answer { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// Sends these bytes as they are, then closes.
    Raw(Vec<u8>),
    /// Says nothing for a long time.
    Hang,
    /// Sends one byte after another, far apart.
    Drip(Vec<u8>),
    /// Closes without an answer.
    Close,
}

impl Reply {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::Answer { status, headers: Vec::new(), body: body.into() }
    }

    pub fn json(body: impl std::fmt::Display) -> Self {
        Self::new(200, body.to_string()).with("content-type", "application/json")
    }

    pub fn with(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_string()));
        }
        self
    }
}

/// A running server; it stops when it is dropped.
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    log: Arc<Mutex<Vec<Request>>>,
    busiest: Arc<AtomicUsize>,
}

type Handler = dyn Fn(&Request) -> Reply + Send + Sync;

impl Server {
    /// Starts a server on a free port of loopback.
    pub fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, log) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let busiest = Arc::new(AtomicUsize::new(0));
        let handler: Arc<Handler> = Arc::new(handler);
        let (stopping, logging, busy) = (stop.clone(), log.clone(), busiest.clone());
        std::thread::spawn(move || {
            let open = Arc::new(AtomicUsize::new(0));
            for stream in listener.incoming() {
                if stopping.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let (handler, log, open, busy) =
                    (handler.clone(), logging.clone(), open.clone(), busy.clone());
                std::thread::spawn(move || serve(stream, &*handler, &log, &open, &busy));
            }
        });
        Self { address, stop, log, busiest }
    }

    /// Returns `http://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns `127.0.0.1:port`.
    pub fn authority(&self) -> String {
        self.address.to_string()
    }

    /// Returns everything that was asked so far.
    pub fn log(&self) -> Vec<Request> {
        self.log.lock().unwrap().clone()
    }

    /// Returns how many requests were in work at the same time, at most.
    pub fn busiest(&self) -> usize {
        self.busiest.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(
    stream: TcpStream,
    handler: &Handler,
    log: &Mutex<Vec<Request>>,
    open: &AtomicUsize,
    busiest: &AtomicUsize,
) {
    let _ = stream.set_nodelay(true);
    let Ok(mut writer) = stream.try_clone() else { return };
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        log.lock().unwrap().push(request.clone());
        busiest.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let reply = handler(&request);
        let keep = write(&mut writer, &request, reply);
        open.fetch_sub(1, Ordering::SeqCst);
        if !keep {
            let _ = writer.shutdown(Shutdown::Both);
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length =
        headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    // The body is read so that the next request begins where it does; nobody asks for it.
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, target, headers })
}

/// Returns whether the connection goes on.
fn write(writer: &mut TcpStream, request: &Request, reply: Reply) -> bool {
    match reply {
        Reply::Answer { status, headers, body } => {
            let mut head = format!("HTTP/1.1 {status} -\r\n");
            for (name, value) in &headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            if status != 304 && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
                head.push_str(&format!("content-length: {}\r\n", body.len()));
            }
            head.push_str("\r\n");
            let mut bytes = head.into_bytes();
            if request.method != "HEAD" && status != 304 {
                bytes.extend_from_slice(&body);
            }
            writer.write_all(&bytes).is_ok()
        }
        Reply::Raw(bytes) => {
            let _ = writer.write_all(&bytes);
            let _ = writer.flush();
            false
        }
        Reply::Hang => {
            std::thread::sleep(Duration::from_secs(20));
            false
        }
        Reply::Drip(bytes) => {
            for byte in bytes {
                if writer.write_all(&[byte]).is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            false
        }
        Reply::Close => false,
    }
}

/// Decodes `%2F` and `+`-free text.
pub fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
