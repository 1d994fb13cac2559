//! A request on its way out: what the hooks make of it. Nothing of this is stored.

use model::hook::{Hooks, Params, TurnContext};
use model::provider::{Extra, Request};

/// Lets the hooks see the conversation, the parameters and the headers, in this order.
pub(crate) async fn through(mut request: Request, hooks: &dyn Hooks, context: &TurnContext) -> Request {
    request.messages = hooks.messages(context, request.messages).await;
    let params = Params {
        temperature: request.temperature,
        max_output_tokens: request.max_output_tokens,
        options: request.extra.options,
    };
    let Params { temperature, max_output_tokens, options } = hooks.params(context, params).await;
    let headers = hooks.headers(context).await;
    Request { temperature, max_output_tokens, extra: Extra { options, headers }, ..request }
}
