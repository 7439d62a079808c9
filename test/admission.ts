// What the tests of admission share: endpoints to call, ways to show a key, and stores with a part replaced.
import { strict as assert } from 'node:assert'
import { contract } from '#api/contract.ts'
import type { EndpointId, Plan } from '#api/routes.ts'
import { Fault } from '#core/fault.ts'
import type { Admission, Claim } from '#serve/admit.ts'
import type { Answer, Caller } from '#serve/answer.ts'
import type { Context } from '#serve/context.ts'
import { createKey, type NewKey } from '#store/keys.ts'
import type { State } from '#store/state.ts'

export const testAddress = '203.0.113.7'
/** Has the form of a secret and belongs to nobody. */
export const wrongSecret = 'w'.repeat(43)

export const answerOf = (id: EndpointId, gate?: Answer['gate']): Answer => ({
  endpoint: contract[id],
  shape: { fault: () => ({ status: 0, body: '' }), nothing: () => ({ status: 0, body: '' }) },
  reply: async () => ({ is: 'nothing' }),
  ...(gate && { gate }),
})
export const quote = answerOf('fx.createQuote')
export const fundedBy = answerOf('explorer.fundedBy')
export const labels = answerOf('explorer.labelListV2')
export const market = answerOf('markets.bySlug')

export const bearing = (key: string, address = testAddress): Claim => ({
  ...{ authorization: `Bearer ${key}`, address, query: {} },
})
export const querying = (apikey: string, address = testAddress): Claim => ({ apikey, address, query: {} })

export const makeKey = (
  context: Pick<Context, 'state' | 'clock' | 'random'>,
  plan: Plan = 'free',
  more: Partial<NewKey> = {},
) => createKey(context.state, { name: 'ci', plan, ...more }, context.clock, context.random)

/** The caller, or the fault. */
export const attempt = (admission: Admission, answer: Answer, claim: Claim): Promise<Caller | Fault> =>
  admission.admit(answer, claim).catch((error) => {
    assert.ok(error instanceof Fault, String(error))
    return error
  })

/** `admitted`, or the code of the fault. */
export async function codeOf(admission: Admission, answer: Answer, claim: Claim): Promise<string> {
  const outcome = await attempt(admission, answer, claim)
  return outcome instanceof Fault ? outcome.code : 'admitted'
}

export const stateWith = (state: State, changes: Partial<State>): State => ({
  engine: state.engine,
  get: (sql, ...values) => state.get(sql, ...values),
  all: (sql, ...values) => state.all(sql, ...values),
  recent: state.recent,
  snapshot: (work, signal) => state.snapshot(work, signal),
  each: (sql, ...values) => state.each(sql, ...values),
  write: (work, options) => state.write(work, options),
  version: () => state.version(),
  close: () => state.close(),
  ...changes,
})
