//! Model adapters of version 0.1.

use super::bindings::codec::exports::airlock::plugin::provider as wit;
use super::request::message;
use super::stream::{event, failure};
use crate::http::{Answer, Outgoing};
use model::provider::{ChatMessage, ProviderFailure, StreamEvent};
use std::sync::Arc;
use wasmtime::component::{InstancePre, ResourceAny};
use wasmtime::{AsContextMut, Store};

/// A codec's store holds nothing but its bounds.
pub type CodecStore = Store<crate::codec::CodecState>;

/// A component that exports a provider, linked to nothing.
#[derive(Clone)]
pub struct Codec {
    pre: InstancePre<crate::codec::CodecState>,
    indices: wit::GuestIndices,
}

impl Codec {
    /// # Errors
    /// When the export is not of the contract's type.
    pub fn new(pre: &InstancePre<crate::codec::CodecState>) -> wasmtime::Result<Self> {
        Ok(Self { indices: wit::GuestIndices::new(pre)?, pre: pre.clone() })
    }

    pub fn engine(&self) -> &wasmtime::Engine {
        self.pre.engine()
    }

    pub fn instantiate(&self, store: &mut CodecStore) -> wasmtime::Result<Live> {
        let instance = self.pre.instantiate(&mut *store)?;
        Ok(Live { guest: self.indices.load(&mut *store, &instance)?, conversation: None, decoder: None })
    }
}

/// An instance at work on one conversation, and on the answer that is being read.
pub struct Live {
    guest: wit::Guest,
    conversation: Option<ResourceAny>,
    decoder: Option<ResourceAny>,
}

impl Live {
    pub fn info(&self, store: &mut CodecStore) -> wasmtime::Result<crate::registry::ProviderInfo> {
        self.guest.call_info(store.as_context_mut()).map(super::request::info)
    }

    pub fn converse(&mut self, store: &mut CodecStore, request: &Encoding) -> wasmtime::Result<()> {
        let conversation = self.guest.conversation().call_constructor(store.as_context_mut(), &request.0)?;
        self.conversation = Some(conversation);
        Ok(())
    }

    pub fn append(&self, store: &mut CodecStore, messages: &[Arc<ChatMessage>]) -> wasmtime::Result<()> {
        let Some(conversation) = self.conversation else { return Ok(()) };
        let messages: Vec<_> = messages.iter().map(|m| message(m)).collect();
        self.guest.conversation().call_append(store.as_context_mut(), conversation, &messages)
    }

    pub fn encode(&self, store: &mut CodecStore) -> wasmtime::Result<Result<Outgoing, String>> {
        let Some(conversation) = self.conversation else { return Ok(Err("there is no conversation".into())) };
        let given = self.guest.conversation().call_encode(store.as_context_mut(), conversation)?;
        Ok(given.map(outgoing))
    }

    pub fn begin(&mut self, store: &mut CodecStore, model: &str, content_type: &str) -> wasmtime::Result<()> {
        self.end(store)?;
        self.decoder = Some(self.guest.decoder().call_constructor(store.as_context_mut(), model, content_type)?);
        Ok(())
    }

    /// Lets the reader of an answer go.
    pub fn end(&mut self, store: &mut CodecStore) -> wasmtime::Result<()> {
        self.decoder.take().map_or(Ok(()), |decoder| decoder.resource_drop(store.as_context_mut()))
    }

    pub fn push(&self, store: &mut CodecStore, bytes: &[u8]) -> wasmtime::Result<Vec<StreamEvent>> {
        let Some(decoder) = self.decoder else { return Ok(Vec::new()) };
        let events = self.guest.decoder().call_push(store.as_context_mut(), decoder, bytes)?;
        Ok(events.into_iter().map(event).collect())
    }

    pub fn finish(&self, store: &mut CodecStore) -> wasmtime::Result<Vec<StreamEvent>> {
        let Some(decoder) = self.decoder else { return Ok(Vec::new()) };
        let events = self.guest.decoder().call_finish(store.as_context_mut(), decoder)?;
        Ok(events.into_iter().map(event).collect())
    }

    pub fn classify(&self, store: &mut CodecStore, answer: &Answer) -> wasmtime::Result<ProviderFailure> {
        let headers: Vec<wit::Header> = answer.headers.iter().map(header).collect();
        let given = self.guest.call_classify(store.as_context_mut(), answer.status, &headers, &answer.body)?;
        Ok(failure(given))
    }
}

/// A request in the contract's words.
pub struct Encoding(pub(super) wit::Request);

fn header((name, value): &(String, String)) -> wit::Header {
    wit::Header { name: name.clone(), value: value.clone() }
}

fn outgoing(given: wit::HttpRequest) -> Outgoing {
    let headers = given.headers.into_iter().map(|h| (h.name, h.value)).collect();
    Outgoing { method: given.method, url: given.url, headers, body: given.body }
}
