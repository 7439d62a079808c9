// Helpers for tests of authorization: endpoints, credentials, and databases with replaced methods.
import { strict as assert } from 'node:assert'
import { contract } from '#api/contract/contract.ts'
import type { EndpointId, Plan } from '#api/contract/routes.ts'
import { Fault } from '#core/fault.ts'
import type { Authorizer, Credentials } from '#http/authorize.ts'
import type { Context } from '#http/context.ts'
import type { Caller, Handler } from '#http/handler.ts'
import { createKey, type NewKey } from '#storage/keys.ts'
import type { State } from '#storage/state.ts'

export const testAddress = '203.0.113.7'
/** Has the form of a secret, but belongs to no key. */
export const wrongSecret = 'w'.repeat(43)

export const handlerOf = (id: EndpointId, checkQuery?: Handler['checkQuery']): Handler => ({
  endpoint: contract[id],
  errorFormat: { renderFault: () => ({ status: 0, body: '' }), renderNotFound: () => ({ status: 0, body: '' }) },
  handle: async () => ({ is: 'nothing' }),
  ...(checkQuery && { checkQuery }),
})
export const quote = handlerOf('fx.createQuote')
export const fundedBy = handlerOf('explorer.fundedBy')
export const labels = handlerOf('explorer.labelListV2')
export const market = handlerOf('markets.bySlug')

/** Accepts every request. */
export const everyone: Authorizer = {
  authorize: async () => ({ keyId: 'test', plan: 'enterprise' }),
  refuseWrongKey: async () => {},
  flush: async () => {},
  close: async () => {},
}

export const bearing = (key: string, address = testAddress): Credentials => ({
  ...{ headers: { authorization: `Bearer ${key}` }, address, query: {} },
})
export const querying = (apikey: string, address = testAddress): Credentials => ({
  headers: {},
  address,
  query: { apikey },
})

export const makeKey = (
  context: Pick<Context, 'state' | 'clock' | 'random'>,
  plan: Plan = 'free',
  more: Partial<NewKey> = {},
) => createKey(context.state, { name: 'ci', plan, ...more }, context.clock, context.random)

/** The caller, or the fault. */
export async function attempt(
  authorizer: Authorizer,
  handler: Handler,
  credentials: Credentials,
): Promise<Caller | Fault> {
  try {
    return await authorizer.authorize(handler, credentials)
  } catch (error) {
    assert.ok(error instanceof Fault, String(error))
    return error
  }
}

/** `accepted`, or the code of the fault. */
export async function codeOf(authorizer: Authorizer, handler: Handler, credentials: Credentials): Promise<string> {
  const outcome = await attempt(authorizer, handler, credentials)
  return outcome instanceof Fault ? outcome.code : 'accepted'
}

export const stateWith = (state: State, changes: Partial<State>): State => ({
  engine: state.engine,
  get: (sql, ...values) => state.get(sql, ...values),
  all: (sql, ...values) => state.all(sql, ...values),
  recent: state.recent,
  snapshot: (work, signal) => state.snapshot(work, signal),
  each: (sql, ...values) => state.each(sql, ...values),
  write: (work, options) => state.write(work, options),
  writeTogether: (write, item) => state.writeTogether(write, item),
  version: (group) => state.version(group),
  close: () => state.close(),
  ...changes,
})
