//! Echo and stamp servers with ntex.

use std::cell::RefCell;
use std::io;
use std::mem;
use std::process::ExitCode;
use std::sync::Arc;

use feedbench_target::{run, Answer, Model, Server};
use ntex::service::{fn_factory_with_config, fn_service};
use ntex::util::{ByteString, Bytes, BytesMut};
use ntex::web::ws::{self, CloseCode, Frame, Message, WsSink};
use ntex::web::{self, App, HttpRequest, HttpResponse, HttpServer};
use ntex::ws::Item;

/// A message of which some fragments may be missing.
#[derive(Default)]
struct Fragments {
    is_text: bool,
    bytes: BytesMut,
}

/// What a connection is for, and what it has received so far of a message in fragments.
struct Connection {
    model: Model,
    server: Arc<Server>,
    fragments: RefCell<Fragments>,
}

impl Connection {
    fn answer(&self, is_text: bool, payload: Bytes) -> Message {
        let same = match is_text {
            true => match ByteString::try_from(payload.clone()) {
                Ok(text) => Message::Text(text),
                Err(_) => return Message::Close(Some(CloseCode::Invalid.into())),
            },
            false => Message::Binary(payload.clone()),
        };
        self.server.before_answer(&payload);
        match self.model.answer(&payload) {
            Answer::Same => same,
            Answer::Text(text) => Message::Text(text.into()),
            Answer::End => Message::Close(Some(CloseCode::Unsupported.into())),
        }
    }

    fn collect(&self, item: Item) -> Option<Message> {
        let mut fragments = self.fragments.borrow_mut();
        match item {
            Item::FirstText(bytes) => {
                *fragments = Fragments {
                    is_text: true,
                    bytes: bytes.as_ref().into(),
                }
            }
            Item::FirstBinary(bytes) => {
                *fragments = Fragments {
                    is_text: false,
                    bytes: bytes.as_ref().into(),
                }
            }
            Item::Continue(bytes) => fragments.bytes.extend_from_slice(&bytes),
            Item::Last(bytes) => {
                fragments.bytes.extend_from_slice(&bytes);
                let whole = mem::take(&mut *fragments);
                return Some(self.answer(whole.is_text, whole.bytes.freeze()));
            }
        }
        None
    }

    async fn on_frame(&self, frame: Frame) -> Result<Option<Message>, io::Error> {
        Ok(match frame {
            Frame::Text(payload) => Some(self.answer(true, payload)),
            Frame::Binary(payload) => Some(self.answer(false, payload)),
            Frame::Continuation(item) => self.collect(item),
            Frame::Ping(payload) => Some(Message::Pong(payload)),
            Frame::Pong(_) => None,
            Frame::Close(reason) => Some(Message::Close(reason)),
        })
    }
}

async fn upgrade(
    request: HttpRequest,
    server: web::types::State<Arc<Server>>,
) -> Result<HttpResponse, web::Error> {
    let Some(model) = Model::of_path(request.path()) else {
        return Ok(HttpResponse::NotFound().finish());
    };
    let server = Arc::clone(&server);
    let factory = fn_factory_with_config(move |sink: WsSink| {
        let server = Arc::clone(&server);
        async move {
            if let Some(greeting) = model.greeting() {
                let _ = sink.send(Message::Text(greeting.into())).await; // it fails only for a peer that has left
            }
            let connection = std::rc::Rc::new(Connection {
                model,
                server,
                fragments: RefCell::default(),
            });
            Ok::<_, web::Error>(fn_service(move |frame| {
                let connection = std::rc::Rc::clone(&connection);
                async move { connection.on_frame(frame).await }
            }))
        }
    });
    ws::start::<_, _, &str, web::Error>(request, None, factory).await
}

fn main() -> ExitCode {
    run(|server| {
        let listener = server.listen()?;
        let workers = server.threads;
        let server = Arc::new(server);
        ntex::rt::System::new("feedbench", ntex::rt::DefaultRuntime).block_on(async move {
            HttpServer::new(async move || {
                App::new()
                    .state(Arc::clone(&server))
                    .default_service(web::route().to(upgrade))
            })
            .workers(workers)
            .shutdown_timeout(ntex::time::Seconds(0))
            .listen(listener)?
            .run()
            .await?;
            Ok(())
        })
    })
}
