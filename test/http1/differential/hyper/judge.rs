//! Answers what hyper makes of requests over HTTP/1.1. Each input is a letter, its length in four bytes, and its bytes; each answer is a
//! line of JSON, as in verdict.ts.
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Read as PollRead, ReadBufCursor, Write as PollWrite};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use serde_json::{json, Value};

/// A connection that the input comes from, byte by byte: so nothing is read ahead, and positions are known.
struct Connection {
    data: Vec<u8>,
    position: Rc<Cell<usize>>,
}

impl PollRead for Connection {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, mut buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let position = self.position.get();
        if let Some(byte) = self.data.get(position) {
            buffer.put_slice(&[*byte]);
            self.position.set(position + 1);
        }
        Poll::Ready(Ok(()))
    }
}

impl PollWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Returns bytes as Latin-1: a string with one code point for each of them.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Reports whether an error is about the bytes, not about their end.
fn is_refusal(error: &hyper::Error) -> bool {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(one) = source {
        if one.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == ErrorKind::UnexpectedEof) {
            return false;
        }
        source = one.source();
    }
    !error.is_incomplete_message()
}

#[derive(Default)]
struct Verdict {
    messages: RefCell<Vec<Value>>,
    is_refused: Cell<bool>,
}

async fn handle(request: Request<Incoming>, verdict: &Verdict, position: &Cell<usize>) -> Response<Empty<Bytes>> {
    let (head, mut body) = request.into_parts();
    let fields: Vec<String> = head
        .headers
        .iter()
        .flat_map(|(name, value)| [name.as_str().to_owned(), latin1(value.as_bytes())])
        .collect();
    let minor = if head.version == Version::HTTP_10 { "0" } else { "1" };
    let mut content = Vec::new();
    let mut is_whole = true;
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => content.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
            Err(error) => {
                is_whole = false;
                verdict.is_refused.set(is_refusal(&error));
            }
        }
    }
    verdict.messages.borrow_mut().push(json!({
        "line": [head.method.as_str(), head.uri.to_string(), minor],
        "fields": fields,
        "body": latin1(&content),
        "end": position.get(),
        "isWhole": is_whole,
    }));
    Response::new(Empty::new())
}

async fn requests(data: Vec<u8>) -> Value {
    let verdict = Verdict::default();
    let position = Rc::new(Cell::new(0));
    let connection = Connection { data, position: position.clone() };
    let service = service_fn(|request| async { Ok::<_, Infallible>(handle(request, &verdict, &position).await) });
    let result = http1::Builder::new().half_close(true).serve_connection(connection, service).await;
    if result.is_err_and(|error| is_refusal(&error)) {
        verdict.is_refused.set(true);
    }
    json!({ "messages": verdict.messages.take(), "isRefused": verdict.is_refused.get() })
}

fn main() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut head = [0; 5];
    while input.read_exact(&mut head).is_ok() {
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let mut data = vec![0; length as usize];
        input.read_exact(&mut data)?;
        writeln!(output, "{}", runtime.block_on(requests(data)))?;
    }
    Ok(())
}
