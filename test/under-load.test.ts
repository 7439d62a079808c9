// Callers at three servers, one of which reads a network, while a server, PostgreSQL and Redis are killed and come back. Callers wait, or
// get one of the documented refusals; nothing else.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '#http/context.ts'
import { silentLog } from '#runtime/log.ts'
import { startServer } from '#server/app.ts'
import { createKey } from '#storage/keys.ts'
import { openState } from '#storage/open.ts'
import { openEpochProcessors } from '#validators/ingest/epochs/open-processors.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { readProcessorStart } from '#validators/ingest/start.ts'
import { settingsWith } from './context.ts'
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
/** How often each must be right before the next thing happens. Of the fundings two a second are all there is. */
const each = { ratings: 30, labels: 30, quotes: 30, funding: 3 }

/** What is there to ask; the answers do not change while the network goes on. */
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

/** The same for everybody who asks for the same. */
function sameAs(name: string, everyMs: number, expected: ReadonlyMap<Call, string>): LoadTask {
  const calls = [...expected.keys()]
  let turn = 0
  return {
    name,
    everyMs,
    next: () => calls[turn++ % calls.length] as Call,
    check: (call, { text }) => assert.equal(text, expected.get(call), `${call.path} was answered differently before`),
  }
}

async function answersOf(target: Target, calls: readonly Call[]): Promise<Map<Call, string>> {
  const found = new Map<Call, string>()
  for (const call of calls) {
    const answer = await sendCall(target, call)
    assert.ok(typeof answer === 'object', `${call.path}: ${answer}`)
    found.set(call, answer.text)
  }
  return found
}

/** One thing after another is killed, and comes back. */
async function havoc(set: ThreeServers, fire: LoadGenerator): Promise<void> {
  const { servers, postgres, redis } = set
  await fire.waitForMore(each)
  // The one that reads the network: another has to notice, and takes over while the rest goes on.
  const metrics = await (await fetch(`${servers[0].url}/metrics`)).text()
  assert.match(metrics, /^tetrad_ingest_leased\{ingester="beacon"\} 1/m)
  await servers[0].kill()
  set.advanceEpochs(3)
  await fire.waitForMore(each)

  await postgres.sql(endSessions).catch(() => {})
  await fire.waitForMore(each)
  await postgres.kill()
  await sleep(1500)
  await postgres.start()
  set.advanceEpochs(3)
  await fire.waitForMore(each)

  await redis.kill()
  await fire.waitForMore({ ...each, funding: 0 })
  await redis.start()
  await servers[0].start()
  await fire.waitForMore(each)
}

test('killed one after another, they lose no quote, give no wrong answer and hold the limit', {
  skip: skipThreeServers || onlyInLongRun,
}, async (t) => {
  await using set = await openThreeServers()
  const { servers, key } = set
  const calls = callsOf(set)
  const ratings = await answersOf(servers[0], calls.ratings)
  const labels = await answersOf(servers[1], calls.labels)
  const funding = sameAs('funding', 100, await answersOf(servers[2], calls.funding))
  const quoted = new Map<string, string>()
  const admitted: LoadResponse[] = []
  let orders = 0
  const begunMs = performance.now()
  const fire = new LoadGenerator(servers, [
    sameAs('ratings', 50, ratings),
    sameAs('labels', 50, labels),
    {
      ...funding,
      check(call, answer) {
        admitted.push(answer)
        funding.check(call, answer)
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
    await havoc(set, fire)
  } finally {
    await fire.end()
  }
  const seconds = Math.round((performance.now() - begunMs) / 1000)
  t.diagnostic(`${seconds} s, ${quoted.size} quotes, ${admitted.length} fundings, ${JSON.stringify(fire.refused)}`)
  assert.deepEqual(fire.failures, [])
  assert.ok(mostInOneSecond(admitted) <= 2, `${mostInOneSecond(admitted)} calls in one second`)
  await everyQuoteIsThere(set, quoted)
  for (const server of servers) {
    assert.deepEqual(await answersOf(server, calls.ratings), ratings)
    assert.deepEqual(await answersOf(server, calls.labels), labels)
  }
  await readAsByOne(set)
})

async function everyQuoteIsThere({ state: url, servers, key }: ThreeServers, quoted: ReadonlyMap<string, string>) {
  const state = await openState('', { state: url })
  const kept = new Set((await state.all<{ id: string }>('select id from fx_quotes')).map(({ id }) => id))
  await state.close()
  const ids = [...quoted.values()].map((text) => (JSON.parse(text) as { id: string }).id)
  assert.ok(ids.length > 100, String(ids.length))
  const lost = ids.filter((id) => !kept.has(id))
  assert.deepEqual(lost, [])
  assert.equal(new Set(ids).size, ids.length)
  // Whoever did not hear the answer asks again, anywhere, and gets it.
  for (const [order, text] of [...quoted].slice(-20)) {
    const again = await sendCall(servers[1], quote(order, key))
    assert.equal(typeof again === 'object' && again.text, text)
  }
}

/** What was read under fire is what an embedded server reads from the same node in peace. */
async function readAsByOne({ dir, settings: given, servers, key }: ThreeServers): Promise<void> {
  const settings = settingsWith({ ...given, ingest: { on: false } })
  const prepare = async (context: Context) => {
    await using mills = openEpochProcessors([await readProcessorStart(context, 'hoodi')])
    await new Follower(context, 'hoodi', mills.of('hoodi')).catchUp(new AbortController().signal)
  }
  const alone = await startServer({ settings, dataDir: join(dir, 'alone'), log: silentLog, prepare })
  try {
    const { state, clock, random } = alone.context
    const own = await createKey(state, { name: 'alone', plan: 'enterprise' }, clock, random)
    for (const path of [0, 5, 10, 15].flatMap((index) => [
      `/v1/eth/validators/${index}/effectiveness?limit=50&granularity=hour`,
      `/v0/eth/validators/effectiveness?indices=${index}&size=50`,
    ])) {
      const { body, statusCode } = await alone.inject({ url: path, headers: headersOf(own.key) })
      assert.equal(statusCode, 200, body)
      for (const server of servers) await untilSame(server, { path, headers: headersOf(key) }, body)
    }
  } finally {
    await alone.close()
  }
}

/** The last of it may still be on its way. */
async function untilSame(server: Target, call: Call, expected: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const answer = await sendCall(server, call)
    if (typeof answer === 'object' && answer.text === expected) return
    assert.ok(tries < 100, `${call.path}: ${JSON.stringify(answer)} instead of ${expected}`)
    await sleep(300)
  }
}
