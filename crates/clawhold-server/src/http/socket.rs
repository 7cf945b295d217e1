//! Many calls over one WebSocket: each is handed to the routes that serve HTTP.
//!
//! So a call has the same limits, the same answers and the same checks on either way, and on a
//! standby it is passed on. What frames hold is read and written in `frame`, one connection is
//! served in `connection`.

mod connection;
mod frame;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use axum::routing::get;
use clawhold_api::error::{Code, Problem};
use clawhold_api::routes;
use clawhold_api::socket::{FRAME_BYTES_MAX, SOCKETS_MAX};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use self::connection::Connection;
use super::error::Rejected;
use super::no_such_method;

/// Bytes read at a time.
const READ_BYTES: usize = 16 * 1_024;

/// The sockets of one server.
#[derive(Clone, Debug)]
pub(crate) struct Sockets {
    /// Serves the calls.
    router: Router,
    places: Arc<Semaphore>,
    /// Turns true when the server stops.
    closed: watch::Receiver<bool>,
}

impl Sockets {
    /// Returns sockets whose calls `router` serves.
    pub(crate) fn new(router: Router, closed: watch::Receiver<bool>) -> Self {
        Self { router, places: Arc::new(Semaphore::new(SOCKETS_MAX)), closed }
    }

    /// Returns the route on which they are opened.
    pub(crate) fn route(&self) -> Router {
        let opens = get(open).fallback(no_such_method);
        Router::new().route(routes::SOCKET, opens).with_state(self.clone())
    }

    /// Waits until all of them are closed. None opens afterwards.
    pub(crate) async fn ended(&self) {
        let all = u32::try_from(SOCKETS_MAX).unwrap_or(u32::MAX);
        // It is never closed, so all of its places come back.
        if let Ok(places) = self.places.acquire_many(all).await {
            places.forget();
        }
    }
}

async fn open(
    State(sockets): State<Sockets>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Rejected> {
    let upgrade = upgrade.map_err(|rejection| {
        let detail =
            format!("this path opens a WebSocket over HTTP/1.1: {}", rejection.body_text());
        Rejected::new(Code::BadRequest, detail)
    })?;
    let Ok(place) = Arc::clone(&sockets.places).try_acquire_owned() else {
        let detail = format!(
            "{SOCKETS_MAX} WebSockets are open, which is as many as may be; \
             call over HTTP, or ask again later"
        );
        let max = Some(SOCKETS_MAX as u64);
        return Err(Problem { max, ..Problem::new(Code::Overloaded, detail) }.into());
    };
    let authorization = headers.get(header::AUTHORIZATION).cloned();
    let upgrade = upgrade.read_buffer_size(READ_BYTES).write_buffer_size(0);
    let upgrade = upgrade.max_message_size(FRAME_BYTES_MAX).max_frame_size(FRAME_BYTES_MAX);
    Ok(upgrade.on_upgrade(move |socket| serve(socket, sockets, authorization, place)))
}

async fn serve(
    socket: WebSocket,
    sockets: Sockets,
    authorization: Option<HeaderValue>,
    _place: OwnedSemaphorePermit,
) {
    Connection::new(sockets.router, authorization).serve(socket, sockets.closed).await;
}

#[cfg(test)]
mod tests {
    use std::future::IntoFuture;
    use std::net::SocketAddr;

    use tokio::net::{TcpListener, TcpStream};
    use tokio_tungstenite::tungstenite::Error;
    use tokio_tungstenite::{WebSocketStream, client_async};

    use super::*;

    async fn dial(address: SocketAddr) -> Result<WebSocketStream<TcpStream>, Error> {
        let stream = TcpStream::connect(address).await.unwrap();
        let opened = client_async(format!("ws://{address}{}", routes::SOCKET), stream).await;
        opened.map(|(stream, _)| stream)
    }

    #[tokio::test]
    async fn as_many_open_as_may_be_and_one_that_ends_makes_room() {
        let (_closing, closed) = watch::channel(false);
        let sockets = Sockets::new(Router::new(), closed);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(axum::serve(listener, sockets.route()).into_future());
        let others = u32::try_from(SOCKETS_MAX - 1).unwrap();
        let _others = sockets.places.try_acquire_many(others).unwrap();
        let last = dial(address).await.unwrap();
        let Err(Error::Http(refused)) = dial(address).await else { panic!("one too many opened") };
        assert_eq!(refused.status().as_u16(), 429);
        drop(last);
        drop(sockets.places.acquire().await.unwrap());
        dial(address).await.unwrap();
    }
}
