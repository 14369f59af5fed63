//! Echo and stamp servers with ws-rs.

use std::process::ExitCode;
use std::rc::Rc;

use feedbench_target::{end_on_signal, run, Answer, Model, Server};
use ws::{
    Builder, CloseCode, Handler, Handshake, Message, Request, Response, Result, Sender, Settings,
};

struct Connection {
    out: Sender,
    server: Rc<Server>,
    model: Model,
}

impl Handler for Connection {
    fn on_request(&mut self, request: &Request) -> Result<Response> {
        match Model::of_path(request.resource()) {
            Some(model) => {
                self.model = model;
                Response::from_request(request)
            }
            None => Ok(Response::new(404, "Not Found", Vec::new())),
        }
    }

    fn on_open(&mut self, _: Handshake) -> Result<()> {
        match self.model.greeting() {
            Some(greeting) => self.out.send(greeting),
            None => Ok(()),
        }
    }

    fn on_message(&mut self, message: Message) -> Result<()> {
        let payload = match &message {
            Message::Text(text) => text.as_bytes(),
            Message::Binary(bytes) => bytes,
        };
        self.server.before_answer(payload);
        match self.model.answer(payload) {
            Answer::Same => self.out.send(message),
            Answer::Text(text) => self.out.send(text),
            Answer::End => self.out.close(CloseCode::Unsupported),
        }
    }
}

/// What the operating system said, where it was asked: the library's own text hides it.
fn reason(error: ws::Error) -> Box<dyn std::error::Error> {
    match error.kind {
        ws::ErrorKind::Io(reason) => reason.into(),
        _ => error.into(),
    }
}

fn main() -> ExitCode {
    run(|server| {
        end_on_signal()?;
        let address = server.address;
        let server = Rc::new(server);
        let settings = Settings {
            max_connections: 20_000,
            tcp_nodelay: true,
            ..Settings::default()
        };
        let new = |out| Connection {
            out,
            server: Rc::clone(&server),
            model: Model::Echo,
        };
        Builder::new()
            .with_settings(settings)
            .build(new)?
            .listen(address)
            .map_err(reason)?;
        Ok(())
    })
}
