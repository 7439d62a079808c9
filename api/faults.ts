// Every error that a caller can get: HTTP status (group A returns 200 instead), whether to retry, and the public message.
// The server and the client both use this table. Do not reuse a code that was released. A test checks docs/errors.md
// against it.

export interface FaultRule {
  readonly status: number
  /** `never`: the same call fails again. `later`: it may succeed later. `changed`: the caller must change the call. */
  readonly retry: 'never' | 'later' | 'changed'
  readonly message: string
}

export const faults = {
  'route.unknown': { status: 404, retry: 'never', message: 'No such path.' },
  'route.method': {
    status: 405,
    retry: 'changed',
    message: 'This path does not support that method. See the allow header.',
  },
  'route.disabled': { status: 404, retry: 'never', message: 'This interface is disabled on this server.' },
  'input.invalid': { status: 400, retry: 'changed', message: 'A parameter is missing or malformed.' },
  'input.url_too_long': { status: 414, retry: 'changed', message: 'The request line is too long.' },
  'input.headers_too_large': { status: 431, retry: 'changed', message: 'The request headers are too large.' },
  'body.too_large': { status: 413, retry: 'changed', message: 'The request body is too large.' },
  'body.type': { status: 415, retry: 'changed', message: 'The content type is not supported. Send application/json.' },
  'body.invalid_json': { status: 400, retry: 'changed', message: 'The request body is not valid JSON.' },
  'key.missing': { status: 401, retry: 'changed', message: 'An API key is required.' },
  'key.invalid': { status: 401, retry: 'changed', message: 'This API key is not valid.' },
  'key.throttled': { status: 429, retry: 'later', message: 'Too many invalid API keys from this address.' },
  'key.group': { status: 403, retry: 'changed', message: 'This API key may not use this interface.' },
  'plan.too_low': { status: 403, retry: 'changed', message: 'This endpoint needs a higher plan.' },
  'console.session': {
    status: 401,
    retry: 'changed',
    message: 'Sign in first: open the sign-in link that the server printed, or create one with `tetrad console link`.',
  },
  'console.link': {
    status: 401,
    retry: 'changed',
    message: 'This sign-in link is invalid, used or expired. Create a new one with `tetrad console link`.',
  },
  'console.origin': {
    status: 403,
    retry: 'changed',
    message: 'This call is only accepted from pages of this server.',
  },
  'console.key': {
    status: 403,
    retry: 'changed',
    message: 'The key of this session was revoked or replaced. Sign out and sign in again.',
  },
  'limit.second': { status: 429, retry: 'later', message: 'Too many calls in one second.' },
  'limit.day': { status: 429, retry: 'later', message: 'The daily call limit is used up.' },
  'limit.unavailable': {
    status: 503,
    retry: 'later',
    message: 'The rate limit of this endpoint cannot be checked at the moment. Try again in a second.',
  },
  'explorer.module': { status: 400, retry: 'changed', message: 'The module name is missing or unknown.' },
  'explorer.action': { status: 400, retry: 'changed', message: 'The action name is missing or unknown.' },
  'explorer.chain_unsupported': { status: 400, retry: 'changed', message: 'This server does not serve this chain.' },
  'explorer.chain_unavailable': { status: 503, retry: 'later', message: 'This chain is temporarily unavailable.' },
  'explorer.not_covered': {
    status: 503,
    retry: 'later',
    message: 'No funding is known, but some blocks of this chain have not been read yet.',
  },
  'explorer.node_unavailable': {
    status: 503,
    retry: 'later',
    message: 'No node of this chain returned a usable response at the moment.',
  },
  'explorer.not_archive': {
    status: 503,
    retry: 'never',
    message: 'The node of this chain has no old state. Configure an archive node, or index the chain.',
  },
  'explorer.no_traces': {
    status: 503,
    retry: 'never',
    message: 'The node of this chain cannot trace internal transfers. Configure a node that can.',
  },
  'explorer.probe_bounds': {
    status: 503,
    retry: 'never',
    message: 'The search for the first funding of this address reached its limits.',
  },
  'explorer.needs_index': {
    status: 503,
    retry: 'never',
    message:
      'The state of this address does not show its first funding. Use a node with trace_filter, or index the chain (mode: index or both).',
  },
  'explorer.unexplained_block': {
    status: 503,
    retry: 'never',
    message: 'A block changed this account, but its transfers, withdrawals and rewards do not explain the change.',
  },
  'explorer.link': {
    status: 403,
    retry: 'changed',
    message: 'This download link is invalid or expired. Request a new one.',
  },
  'fx.amount_range': {
    status: 400,
    retry: 'changed',
    message: 'The amount is outside the range offered for this pair.',
  },
  'fx.pair_unknown': { status: 400, retry: 'changed', message: 'This currency or pair is not offered.' },
  'fx.no_spender': {
    status: 501,
    retry: 'never',
    message: 'Tradable quotes are not available, only reference quotes. Set fx.spender to the settlement contract.',
  },
  'fx.rate_stale': { status: 503, retry: 'later', message: 'No fresh rate for this pair.' },
  'fx.rate_disputed': {
    status: 503,
    retry: 'later',
    message: 'The rate sources of this pair disagree. There is no price until they agree again.',
  },
  'fx.idempotency': {
    status: 409,
    retry: 'changed',
    message: 'This idempotency key was used with another body. Use a new key.',
  },
  'validators.not_covered': {
    status: 503,
    retry: 'later',
    message: 'No epoch of this network has been read yet, so it is unknown whether this validator exists.',
  },
  'validators.not_watched': {
    status: 404,
    retry: 'never',
    message: 'This server records only selected validators of this network, and this is not one of them.',
  },
  'validators.windows_changed': {
    status: 503,
    retry: 'never',
    message: 'The stored data of this network uses other hours or days than configured. Restore the old settings.',
  },
  'markets.not_covered': {
    status: 503,
    retry: 'later',
    message: 'Not all feeds have been read completely, so it is unknown whether this market exists.',
  },
  'markets.history_expired': {
    status: 410,
    retry: 'never',
    message: 'The stored history does not contain that time or cursor.',
  },
  'markets.too_many_changes': {
    status: 400,
    retry: 'changed',
    message: 'Too many changes since then for one response. Request a later time.',
  },
  'markets.streams_full': {
    status: 503,
    retry: 'later',
    message: 'The server has no free change stream at the moment.',
  },
  'markets.streams_per_caller': {
    status: 429,
    retry: 'later',
    message: 'You have the maximum number of open change streams. Close one first.',
  },
  'record.not_found': { status: 404, retry: 'never', message: 'Not found.' },
  'store.unavailable': {
    status: 503,
    retry: 'later',
    message: 'The database cannot be read or written at the moment.',
  },
  'server.timeout': { status: 504, retry: 'later', message: 'The request took too long and was aborted.' },
  'server.internal': {
    status: 500,
    retry: 'later',
    message: 'Internal error. The log has details under the request id.',
  },
} as const satisfies Record<string, FaultRule>

export type FaultCode = keyof typeof faults

/** Faults of every endpoint. */
export const commonFaults: readonly FaultCode[] = [
  'route.method',
  'route.disabled',
  'input.invalid',
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
