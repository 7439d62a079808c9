// Calls to three servers, one of which ingests, while a server, PostgreSQL and Redis are killed and restarted. Calls
// may wait or get a documented error, nothing else.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '#http/context.ts'
import { silentLog } from '#runtime/log.ts'
import { startServer } from '#server/app.ts'
import { createKey } from '#storage/keys.ts'
import { openState } from '#storage/open.ts'
import { createValidatorsCaches } from '#validators/context.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { openEpochProcessors } from '#validators/ingest/thread/open-processors.ts'
import { readProcessorStart } from '#validators/ingest/thread/read-processor-start.ts'
import { settingsWith } from './context.ts'
import { inject } from './inject.ts'
import {
  type Call,
  LoadGenerator,
  type LoadResponse,
  type LoadTask,
  mostInOneSecond,
  sendCall,
  type Target,
} from './load.ts'
import { onlyInLongRun } from './long.ts'
import { headersOf, openThreeServers, skipThreeServers, type ThreeServers } from './three-servers.ts'

const endSessions = 'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()'
/** Correct responses of each task before the next step. Fundings are limited to two per second. */
const stepGoal = { ratings: 30, labels: 30, quotes: 30, funding: 3 }

/** Calls whose responses do not change while the network grows. */
function callsOf({ key, otherKey, address, slug }: ThreeServers): Record<'ratings' | 'labels' | 'funding', Call[]> {
  const ratings = [
    '/v0/eth/validators/effectiveness?indices=1,2,3,4,5&size=5&filterType=day&from=0&to=0',
    '/v1/eth/validators/7/effectiveness?limit=10&fromDay=0&toDay=0',
    '/v0/eth/validators/3',
  ].map((path) => ({ path, headers: headersOf(key) }))
  const labels = [
    { path: `/v2/api?apikey=${key}&module=nametag&action=getlabelmasterlist&chainid=1` },
    { path: `/markets/slug/${slug}` },
  ]
  const funding = { path: `/v2/api?apikey=${otherKey}&module=account&action=fundedby&chainid=1&address=${address}` }
  return { ratings, labels, funding: [funding] }
}

const quote = (order: string, key: string): Call => ({
  path: '/v1/exchange/fx/quotes',
  headers: { ...headersOf(key), 'idempotency-key': order },
  body: {
    from: { currency: 'USDC', amount: '1000' },
    to: { currency: 'EURC' },
    tenor: 'instant',
    recipientAddress: `0x${'11'.repeat(20)}`,
  },
})

/** A task that expects the same response to the same call. */
function expectUnchanged(name: string, everyMs: number, expected: ReadonlyMap<Call, string>): LoadTask {
  const calls = [...expected.keys()]
  let next = 0
  return {
    name,
    everyMs,
    next: () => calls[next++ % calls.length] as Call,
    check: (call, { text }) => assert.equal(text, expected.get(call), `${call.path} had another response before`),
  }
}

async function responsesOf(target: Target, calls: readonly Call[]): Promise<Map<Call, string>> {
  const responses = new Map<Call, string>()
  for (const call of calls) {
    const response = await sendCall(target, call)
    assert.ok(typeof response === 'object', `${call.path}: ${response}`)
    responses.set(call, response.text)
  }
  return responses
}

/** Kills and restarts one component after another. */
async function killComponents(set: ThreeServers, load: LoadGenerator): Promise<void> {
  const { servers, postgres, redis } = set
  await load.waitForMore(stepGoal)
  // Kill the server that ingests: another one must take over.
  const metrics = await (await fetch(`${servers[0].url}/metrics`)).text()
  assert.match(metrics, /^tetrad_ingest_leased\{ingester="beacon"\} 1/m)
  await servers[0].kill()
  set.advanceEpochs(3)
  await load.waitForMore(stepGoal)

  await postgres.sql(endSessions).catch(() => {})
  await load.waitForMore(stepGoal)
  await postgres.kill()
  await sleep(1500)
  await postgres.start()
  set.advanceEpochs(3)
  await load.waitForMore(stepGoal)

  await redis.kill()
  await load.waitForMore({ ...stepGoal, funding: 0 })
  await redis.start()
  await servers[0].start()
  await load.waitForMore(stepGoal)
}

test('no quote is lost, no response is wrong and the rate limit holds while components are killed', {
  skip: skipThreeServers || onlyInLongRun,
}, async (t) => {
  await using set = await openThreeServers()
  const { servers, key } = set
  const calls = callsOf(set)
  const ratings = await responsesOf(servers[0], calls.ratings)
  const labels = await responsesOf(servers[1], calls.labels)
  const funding = expectUnchanged('funding', 100, await responsesOf(servers[2], calls.funding))
  const quoted = new Map<string, string>()
  const accepted: LoadResponse[] = []
  let orders = 0
  const startMs = performance.now()
  const load = new LoadGenerator(servers, [
    expectUnchanged('ratings', 50, ratings),
    expectUnchanged('labels', 50, labels),
    {
      ...funding,
      check(call, response) {
        accepted.push(response)
        funding.check(call, response)
      },
    },
    {
      name: 'quotes',
      everyMs: 20,
      next: () => quote(`order-${orders++}`, key),
      check: ({ headers }, { text }) => quoted.set(headers?.['idempotency-key'] ?? '', text),
    },
  ])
  try {
    await killComponents(set, load)
  } finally {
    await load.end()
  }
  const seconds = Math.round((performance.now() - startMs) / 1000)
  t.diagnostic(`${seconds} s, ${quoted.size} quotes, ${accepted.length} fundings, ${JSON.stringify(load.refused)}`)
  assert.deepEqual(load.failures, [])
  assert.ok(mostInOneSecond(accepted) <= 2, `${mostInOneSecond(accepted)} calls in one second`)
  await expectAllQuotes(set, quoted)
  for (const server of servers) {
    assert.deepEqual(await responsesOf(server, calls.ratings), ratings)
    assert.deepEqual(await responsesOf(server, calls.labels), labels)
  }
  await expectSameRatings(set)
})

async function expectAllQuotes({ state: url, servers, key }: ThreeServers, quoted: ReadonlyMap<string, string>) {
  const state = await openState('', { state: url })
  const stored = new Set((await state.all<{ id: string }>('select id from fx_quotes')).map(({ id }) => id))
  await state.close()
  const ids = [...quoted.values()].map((text) => (JSON.parse(text) as { id: string }).id)
  assert.ok(ids.length > 100, String(ids.length))
  const lost = ids.filter((id) => !stored.has(id))
  assert.deepEqual(lost, [])
  assert.equal(new Set(ids).size, ids.length)
  // A repeated call to another server returns the same quote.
  for (const [order, text] of [...quoted].slice(-20)) {
    const again = await sendCall(servers[1], quote(order, key))
    assert.equal(typeof again === 'object' && again.text, text)
  }
}

/** The ratings must be equal to those of an embedded server that reads the same node undisturbed. */
async function expectSameRatings({ dir, settings: shared, servers, key }: ThreeServers): Promise<void> {
  const settings = settingsWith({ ...shared, ingest: { enabled: false } })
  const beforeStart = async (server: Context) => {
    const context = { ...server, validators: createValidatorsCaches() }
    await using processors = openEpochProcessors([await readProcessorStart(context, 'hoodi')])
    await new Follower(context, 'hoodi', processors.of('hoodi')).catchUp(new AbortController().signal)
  }
  const alone = await startServer({ settings, dataDir: join(dir, 'alone'), log: silentLog, beforeStart })
  try {
    const { state, clock, random } = alone.context
    const keyAlone = await createKey(state, { name: 'alone', plan: 'enterprise' }, clock, random)
    for (const path of [0, 5, 10, 15].flatMap((index) => [
      `/v1/eth/validators/${index}/effectiveness?limit=50&granularity=hour`,
      `/v0/eth/validators/effectiveness?indices=${index}&size=50`,
    ])) {
      const { body, statusCode } = await inject(alone, { url: path, headers: headersOf(keyAlone.key) })
      assert.equal(statusCode, 200, body)
      for (const server of servers) await untilSame(server, { path, headers: headersOf(key) }, body)
    }
  } finally {
    await alone.close()
  }
}

/** The last epochs may not have been read yet. */
async function untilSame(server: Target, call: Call, expected: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const response = await sendCall(server, call)
    if (typeof response === 'object' && response.text === expected) return
    assert.ok(tries < 100, `${call.path}: ${JSON.stringify(response)} instead of ${expected}`)
    await sleep(300)
  }
}
