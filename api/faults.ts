// Every failure a caller can meet. `status` is what groups B, C and D answer with (group A answers 200 and says it in
// the envelope); `retry` is read by the client and by the server's own loops alike. A retired code keeps its line and
// is never reused. docs/errors.md is held against this table by a test.

export interface FaultRule {
  readonly status: number
  /** `never`: the same call fails again. `later`: try again after a while. `changed`: the caller must change it first. */
  readonly retry: 'never' | 'later' | 'changed'
  readonly message: string
}

export const faults = {
  'route.unknown': { status: 404, retry: 'never', message: 'No such path.' },
  'route.method': {
    status: 405,
    retry: 'changed',
    message: 'This path does not answer that method; see the allow header.',
  },
  'route.off': { status: 404, retry: 'never', message: 'This interface is switched off here.' },
  'input.invalid': { status: 400, retry: 'changed', message: 'A parameter is missing or malformed.' },
  'input.url_too_long': { status: 414, retry: 'changed', message: 'The request line is too long.' },
  'input.headers_too_large': { status: 431, retry: 'changed', message: 'The request headers are too large.' },
  'body.too_large': { status: 413, retry: 'changed', message: 'The request body is too large.' },
  'body.type': { status: 415, retry: 'changed', message: 'The content type is not supported; send application/json.' },
  'body.unreadable': { status: 400, retry: 'changed', message: 'The request body is not valid JSON.' },
  'key.missing': { status: 401, retry: 'changed', message: 'An API key is needed.' },
  'key.invalid': { status: 401, retry: 'changed', message: 'This API key is not valid.' },
  'key.guarded': { status: 429, retry: 'later', message: 'Too many invalid API keys from this address.' },
  'key.group': { status: 403, retry: 'changed', message: 'This API key may not use this interface.' },
  'plan.too_low': { status: 403, retry: 'changed', message: 'This endpoint needs a higher plan.' },
  'console.session': {
    status: 401,
    retry: 'changed',
    message:
      'This is the operator’s: open the sign-in link that the server printed, or make one with tetrad console link.',
  },
  'console.link': {
    status: 401,
    retry: 'changed',
    message: 'This sign-in link is not valid, was used already or is too old; make a new one with tetrad console link.',
  },
  'console.origin': {
    status: 403,
    retry: 'changed',
    message: 'Only a page of this server may make this call.',
  },
  'console.key': {
    status: 403,
    retry: 'changed',
    message: 'The key of this session’s pages was revoked or replaced; sign out and in again for a new one.',
  },
  'limit.second': { status: 429, retry: 'later', message: 'Too many calls in one second.' },
  'limit.day': { status: 429, retry: 'later', message: 'The daily number of calls is used up.' },
  'limit.unavailable': {
    status: 503,
    retry: 'later',
    message: 'The rate limit of this endpoint cannot be checked at the moment; try again in a second.',
  },
  'explorer.module': { status: 400, retry: 'changed', message: 'The module name is missing or not known.' },
  'explorer.action': { status: 400, retry: 'changed', message: 'The action name is missing or not known.' },
  'explorer.chain_unsupported': { status: 400, retry: 'changed', message: 'This chain is not served here.' },
  'explorer.chain_unavailable': { status: 503, retry: 'later', message: 'This chain is temporarily unavailable.' },
  'explorer.not_covered': {
    status: 503,
    retry: 'later',
    message: 'The blocks of this chain have not been read completely, so the absence of a record proves nothing.',
  },
  'explorer.node_unavailable': {
    status: 503,
    retry: 'later',
    message: 'No node of this chain gives a usable answer at the moment.',
  },
  'explorer.not_archive': {
    status: 503,
    retry: 'never',
    message:
      'The node of this chain keeps no old state; the operator must configure an archive node or index the chain.',
  },
  'explorer.no_traces': {
    status: 503,
    retry: 'never',
    message: 'The node of this chain cannot show internal transfers; the operator must configure one that can trace.',
  },
  'explorer.probe_bounds': {
    status: 503,
    retry: 'never',
    message: 'The search for the first funding of this address did not finish within its limits.',
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
    message: 'This download link is not valid or has expired; ask for a new one.',
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
    message:
      'Tradable quotes are not given here, reference quotes are: the operator must set fx.spender, the contract that settles.',
  },
  'fx.rate_stale': { status: 503, retry: 'later', message: 'No fresh rate for this pair.' },
  'fx.rate_disputed': {
    status: 503,
    retry: 'later',
    message: 'The sources of this pair’s rate disagree; no price is given until they agree again.',
  },
  'fx.idempotency': {
    status: 409,
    retry: 'changed',
    message: 'This idempotency key was used with another body; use a new key.',
  },
  'validators.not_covered': {
    status: 503,
    retry: 'later',
    message: 'No epoch of this network has been read here yet, so whether there is such a validator is not known.',
  },
  'validators.not_kept': {
    status: 404,
    retry: 'never',
    message: 'Only chosen validators of this network are kept here, and this is none of them.',
  },
  'validators.windows_changed': {
    status: 503,
    retry: 'never',
    message:
      'What is stored of this network was added up in other hours or days than are configured; the operator must set them back.',
  },
  'markets.not_covered': {
    status: 503,
    retry: 'later',
    message: 'The feeds of this server have not been read completely yet, so the absence of a market proves nothing.',
  },
  'markets.history_gone': {
    status: 410,
    retry: 'never',
    message: 'The history that is kept here does not hold that time or cursor.',
  },
  'markets.too_much': {
    status: 400,
    retry: 'changed',
    message: 'Too much has changed since then for one answer; ask for a later time.',
  },
  'markets.streams_full': {
    status: 503,
    retry: 'later',
    message: 'No more callers can follow the changes at the moment.',
  },
  'markets.streams_own': {
    status: 429,
    retry: 'later',
    message: 'This caller follows the changes as often at the same time as one may; end one of the streams first.',
  },
  'record.unknown': { status: 404, retry: 'never', message: 'Not found.' },
  'store.unavailable': {
    status: 503,
    retry: 'later',
    message: 'The store cannot be reached or written at the moment.',
  },
  'server.timeout': { status: 504, retry: 'later', message: 'The answer took too long and was given up.' },
  'server.internal': {
    status: 500,
    retry: 'later',
    message: 'Something broke on our side; the request id names it in the log.',
  },
} as const satisfies Record<string, FaultRule>

export type FaultCode = keyof typeof faults

/** Faults any endpoint can raise. */
export const commonFaults: readonly FaultCode[] = [
  'route.method',
  'route.off',
  'input.invalid',
  'input.url_too_long',
  'input.headers_too_large',
  'limit.second',
  'store.unavailable',
  'server.timeout',
  'server.internal',
]

/** Faults of every endpoint that asks for a key. */
export const keyFaults: readonly FaultCode[] = [
  'key.missing',
  'key.invalid',
  'key.guarded',
  'key.group',
  'plan.too_low',
  'limit.day',
]
