"""The log line and the span of each call of a model, by OpenTelemetry's conventions for such calls."""

from typing import Any

from opentelemetry.trace import Span

from holocron_assets.derive.engine.calls import Exchange, Request
from holocron_assets.telemetry.logs import logger, shown
from holocron_assets.telemetry.spans import failed

_LOG = logger(__name__)


def call_attributes(request: Request) -> dict[str, Any]:
    """The attributes of a call that are known before it is sent."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "ollama",
        "gen_ai.request.model": request.model,
        "gen_ai.request.max_tokens": request.options.get("num_predict"),
        "gen_ai.request.temperature": request.options.get("temperature"),
        "gen_ai.request.seed": request.options.get("seed"),
        "gen_ai.output.type": "json",
    }


def report_call(exchange: Exchange, made: Span) -> None:
    """Log the outcome of a call. Only debug lines have prompt and reply, since pages may hold anything.

    Args:
        exchange: the call.
        made: its span.
    """
    reply, failure = exchange.reply, exchange.failure
    made.set_attribute("holocron.request_id", exchange.call_id)
    if reply:
        made.set_attribute("gen_ai.usage.input_tokens", reply.tokens_in)
        made.set_attribute("gen_ai.usage.output_tokens", reply.tokens_out)
        made.set_attribute("gen_ai.response.finish_reasons", [reply.done_reason or "unknown"])
    if failure:
        failed(made, failure.outcome, failure.reason)
    _LOG.debug(
        "payload of a call",
        model=exchange.request.model,
        options=dict(exchange.request.options),
        prompt=shown(exchange.request.text),
        reply=shown(reply.text) if reply else None,
    )
    log = _LOG.warning if failure else _LOG.info
    log(
        "asked a model",
        model=exchange.request.model,
        outcome=failure.outcome if failure else "ok",
        milliseconds=round(exchange.total_ms),
        tokens_in=reply.tokens_in if reply else 0,
        tokens_out=reply.tokens_out if reply else 0,
        error=failure.reason if failure else None,
    )
