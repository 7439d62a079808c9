// Every error that a caller can get: HTTP status (group A returns 200 instead), whether to retry, and the public message.
// The server and the client both use this table. Do not reuse a code that was released. A test checks docs/errors.md
// against it.

export interface FaultRule {
  readonly status: number
  /** `never`: the same call fails again. `later`: it may succeed later. `changed`: the caller must change the call. */
  readonly retry: 'never' | 'later' | 'changed'
  readonly message: string
}

const faultRule =
  (retry: FaultRule['retry']) =>
  (status: number, message: string): FaultRule => ({ status, retry, message })
const [never, later, changed] = [faultRule('never'), faultRule('later'), faultRule('changed')]

export const faults = {
  'route.unknown': never(404, 'No such path.'),
  'route.method': changed(405, 'This path does not support that method. See the allow header.'),
  'route.disabled': never(404, 'This interface is disabled on this server.'),
  'input.invalid': changed(400, 'A parameter is missing or malformed.'),
  'input.unknown': changed(400, 'A name in the request is not known.'),
  'input.url_too_long': changed(414, 'The request line is too long.'),
  'input.headers_too_large': changed(431, 'The request headers are too large.'),
  'body.too_large': changed(413, 'The request body is too large.'),
  'body.type': changed(415, 'The content type is not supported. Send application/json.'),
  'body.invalid_json': changed(400, 'The request body is not valid JSON.'),
  'key.missing': changed(401, 'An API key is required.'),
  'key.invalid': changed(401, 'This API key is not valid.'),
  'key.throttled': later(429, 'Too many invalid API keys from this address.'),
  'key.group': changed(403, 'This API key may not use this interface.'),
  'plan.too_low': changed(403, 'This endpoint needs a higher plan.'),
  'console.session': changed(
    401,
    'Sign in first: open the sign-in link that the server printed, or create one with `tetrad console link`.',
  ),
  'console.link': changed(
    401,
    'This sign-in link is invalid, used or expired. Create a new one with `tetrad console link`.',
  ),
  'console.origin': changed(403, 'This call is only accepted from pages of this server.'),
  'console.key': changed(403, 'The key of this session was revoked or replaced. Sign out and sign in again.'),
  'limit.second': later(429, 'Too many calls in one second.'),
  'limit.day': later(429, 'The daily call limit is used up.'),
  'limit.unavailable': later(
    503,
    'The rate limit of this endpoint cannot be checked at the moment. Try again in a second.',
  ),
  'explorer.module': changed(400, 'The module name is missing or unknown.'),
  'explorer.action': changed(400, 'The action name is missing or unknown.'),
  'explorer.chain_unsupported': changed(400, 'This server does not serve this chain.'),
  'explorer.chain_unavailable': later(503, 'This chain is temporarily unavailable.'),
  'explorer.not_covered': later(503, 'No funding is known, but some blocks of this chain have not been read yet.'),
  'explorer.node_unavailable': later(503, 'No node of this chain returned a usable response at the moment.'),
  'explorer.not_archive': never(
    503,
    'The node of this chain has no old state. Configure an archive node, or index the chain.',
  ),
  'explorer.no_traces': never(
    503,
    'The node of this chain cannot trace internal transfers. Configure a node that can.',
  ),
  'explorer.probe_bounds': never(503, 'The search for the first funding of this address reached its limits.'),
  'explorer.needs_index': never(
    503,
    'The state of this address does not show its first funding. Use a node with trace_filter, or index the chain (mode: index or both).',
  ),
  'explorer.unexplained_block': never(
    503,
    'A block changed this account, but its transfers, withdrawals and rewards do not explain the change.',
  ),
  'explorer.link': changed(403, 'This download link is invalid or expired. Request a new one.'),
  'fx.amount_range': changed(400, 'The amount is outside the range offered for this pair.'),
  'fx.pair_unknown': changed(400, 'This currency or pair is not offered.'),
  'fx.no_spender': never(
    501,
    'Tradable quotes are not available, only reference quotes. Set fx.spender to the settlement contract.',
  ),
  'fx.rate_stale': later(503, 'No fresh rate for this pair.'),
  'fx.rate_disputed': later(503, 'The rate sources of this pair disagree. There is no price until they agree again.'),
  'fx.stopped': later(503, 'There are no quotes for this pair now.'),
  'fx.checks_full': later(429, 'Too many signature checks are waiting. Try again in a few seconds.'),
  'fx.idempotency': changed(409, 'This idempotency key was used with another body. Use a new key.'),
  'fx.quote_expired': never(410, 'This quote has expired. Request a new one.'),
  'fx.trade_conflict': changed(409, 'This quote was accepted with another address or signature.'),
  'fx.signature_invalid': changed(400, 'This is not a signature of this address over the typed data of the quote.'),
  'fx.node_unavailable': later(503, 'No node could be asked at the moment, so nothing was changed. Try again.'),
  'fx.transaction_mismatch': changed(400, 'The receipt of the transaction does not show this result.'),
  'validators.not_covered': later(
    503,
    'No final epoch of this network has been read yet, so it is unknown whether this validator exists.',
  ),
  'validators.not_read': never(404, 'This server does not read this network, so it knows none of its validators.'),
  'validators.not_watched': never(
    404,
    'This server records only selected validators of this network, and this is not one of them.',
  ),
  'validators.windows_changed': never(
    503,
    'The stored data of this network uses other hours or days than configured. Restore the old settings.',
  ),
  'markets.not_covered': later(
    503,
    'Not all feeds have been read completely, so it is unknown whether this market exists.',
  ),
  'markets.history_expired': never(410, 'The stored history does not contain that time or cursor.'),
  'markets.too_many_changes': changed(400, 'Too many changes since then for one response. Request a later time.'),
  'markets.history_busy': later(429, 'Too many callers are reading the history of markets. Try again in a moment.'),
  'markets.lists_busy': later(429, 'Too many lists of markets are being read. Try again in a moment.'),
  'markets.streams_full': later(503, 'The server has no free change stream at the moment.'),
  'markets.streams_per_caller': later(429, 'You have the maximum number of open change streams. Close one first.'),
  'record.not_found': never(404, 'Not found.'),
  'store.unavailable': later(503, 'The database cannot be read or written at the moment.'),
  'server.timeout': later(504, 'The request took too long and was aborted.'),
  'server.internal': later(500, 'Internal error. The log has details under the request id.'),
} satisfies Record<string, FaultRule>

export type FaultCode = keyof typeof faults

/** Faults of every endpoint. */
export const commonFaults: readonly FaultCode[] = [
  'route.method',
  'route.disabled',
  'input.invalid',
  'input.unknown',
  'input.url_too_long',
  'input.headers_too_large',
  'limit.second',
  'store.unavailable',
  'server.timeout',
  'server.internal',
]

/** Faults of every endpoint that requires a key. */
export const keyFaults: readonly FaultCode[] = [
  'key.missing',
  'key.invalid',
  'key.throttled',
  'key.group',
  'plan.too_low',
  'limit.day',
]
