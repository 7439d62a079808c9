// "Ask once, come back": what one call could not finish is finished by the server itself (decision 0162).
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { systemClock } from '#io/clock.ts'
import { start } from '#server/main.ts'
import { chance } from '#sim/chance.ts'
import { SimChain } from '#sim/evm/chain.ts'
import { spendingCode } from '#sim/evm/execute.ts'
import { type SimAbilities, SimNode } from '#sim/evm/node.ts'
import { createKey } from '#store/keys.ts'
import { openDesk, settingsWith, testVisit } from '#test/desk.ts'
import { fundedBy } from './funded-by.ts'
import { findFunding, putProven } from './fundings.ts'
import { needNode } from './node.ts'
import { type LaterProgress, startLater } from './probe-later.ts'
import { findMark, putMark, unwant, want, wantedOf } from './probe-marks.ts'

async function stage(probe: object = {}, abilities: SimAbilities = { traces: ['trace_block'] }) {
  const chain = new SimChain({ seed: 'probe', finalLag: 10 })
  chain.mine(200)
  const sim = new SimNode(chain, abilities)
  const chains = [{ id: '1', name: 'Sim', rpc: [{ url: await sim.listen() }] }]
  const desk = await openDesk({ explorer: { chains, probe: { blocksMax: 4, ...probe } } })
  const real = { ...desk, clock: systemClock }
  // Those first that were funded longest after they could pass value on.
  const waited = (one: string) => {
    const funded = chain.firstFunding(one)?.block ?? 0
    const made = chain.blocks.findIndex(({ number }) => chain.accountAt(one, number).code === spendingCode)
    return made >= 0 && funded <= chain.final && !chain.destroyed.has(one) ? funded - made : 0
  }
  const [first, second] = chain.addresses().sort((a, b) => waited(b) - waited(a))
  assert.ok(first && second && waited(second) > 20)
  return {
    ...{ chain, sim, desk, real, first, second },
    ask: (address: string) => fundedBy.reply({ chainid: '1', address }, real, testVisit()),
    wanted: async () => (await wantedOf(desk.state, '1', 100)).map(({ address }) => address),
    /** Runs the loop until it has told what is waited for. */
    async run(until: (progress: LaterProgress) => boolean): Promise<LaterProgress[]> {
      const stop = new AbortController()
      const told: LaterProgress[] = []
      await startLater(real, needNode(real, '1'), stop.signal, (progress) => {
        told.push(progress)
        if (until(progress)) stop.abort()
      })
      return told
    },
    async [Symbol.asyncDispose]() {
      await sim[Symbol.asyncDispose]()
      await desk[Symbol.asyncDispose]()
    },
  }
}

const faultOf = (work: Promise<unknown>): Promise<Fault> =>
  work.then(
    () => assert.fail('it was answered'),
    (error) => {
      assert.ok(error instanceof Fault, String(error))
      return error
    },
  )

test('the first call says how far it came and when to come back; a while later the same call is answered from the store', async () => {
  await using at = await stage()
  const fault = await faultOf(at.ask(at.first))
  assert.equal(fault.code, 'explorer.probe_bounds')
  assert.match(fault.says, /up to block \d+ of \d+ none.*A running server goes on by itself/)
  assert.ok(Number(fault.retryAfterMs) >= 2000)
  assert.deepEqual(await at.wanted(), [at.first])
  await at.run(({ open }) => open === 0)
  const before = at.sim.calls
  const outcome = await at.ask(at.first)
  assert.equal(outcome.is === 'body' && outcome.body.result.block, at.chain.firstFunding(at.first)?.block)
  assert.equal(at.sim.calls, before, 'nothing was asked of the node')
})

test('it goes on in slices and survives a restart between them', async () => {
  await using at = await stage({ callsMax: 150 })
  await faultOf(at.ask(at.first))
  let last = (await findMark(at.desk.state, '1', at.first))?.block ?? -1
  for (let starts = 0; (await at.wanted()).length > 0; starts++) {
    assert.ok(starts < 50, 'it never ends')
    // Each run is a server that is stopped after one slice.
    const [told] = await at.run(() => true)
    const mark = await findMark(at.desk.state, '1', at.first)
    if (mark) assert.ok(mark.block > last && Number(told?.remaining) > 0, `${mark.block} after ${last}`)
    last = mark?.block ?? last
  }
  const outcome = await at.ask(at.first)
  assert.equal(outcome.is === 'body' && outcome.body.result.block, at.chain.firstFunding(at.first)?.block)
})

test('those that wait take turns', async () => {
  await using at = await stage({ callsMax: 150 })
  await faultOf(at.ask(at.first))
  await faultOf(at.ask(at.second))
  assert.deepEqual(await at.wanted(), [at.first, at.second])
  await at.run(() => true)
  assert.deepEqual(await at.wanted(), [at.second, at.first])
})

test('a search that only looked before is gone on with from the beginning, on better grounds, and not given up', async () => {
  // Some fifty blocks a slice.
  await using at = await stage({ callsMax: 300 })
  const funded = (one: string) => at.chain.firstFunding(one)?.block ?? 0
  const address = at.chain.addresses().find((one) => {
    const { nonce, code } = at.chain.accountAt(one, at.chain.head.number)
    return nonce === 0n && code === '0x' && funded(one) > 150 && funded(one) <= at.chain.final
  })
  assert.ok(address)
  await at.desk.state.write(async (tx) => {
    await putMark(tx, '1', address, { block: 140, stateTells: true, proof: 'looked' })
    await want(tx, '1', address, 1)
  })
  await at.run(({ open }) => open === 0)
  const found = await findFunding(at.desk.state, '1', address)
  assert.deepEqual([found?.block, found?.proven], [funded(address), 'probed'])
})

test('what was stored as looked is the answer until the server has searched again, where blocks may be read', async () => {
  await using at = await stage()
  const address = at.chain.addresses().find((one) => {
    const { block = 0 } = at.chain.firstFunding(one) ?? {}
    return block > 100 && block <= at.chain.final && !at.chain.destroyed.has(one)
  })
  const truth = at.chain.firstFunding(address ?? '')
  assert.ok(address && truth)
  const { from: funder, to: _, ...rest } = truth
  const funding = { chain: '1', address, funder, ...rest, block: truth.block + 1 }
  await at.desk.state.write((tx) => putProven(tx, funding, 'looked'))
  const first = await at.ask(address)
  assert.deepEqual([first.is === 'body' && first.confidence?.coverage, await at.wanted()], ['looked', [address]])
  await at.run(({ open }) => open === 0)
  const later = await at.ask(address)
  assert.deepEqual(later.is === 'body' && [later.body.result.block, later.confidence?.coverage], [
    truth.block,
    'probed',
  ])
  assert.deepEqual(await at.wanted(), [])
})

test('what no node can make surer is not searched for again and again', async () => {
  await using at = await stage({}, { traces: [] })
  const address = at.chain.addresses().find((one) => (at.chain.firstFunding(one)?.block ?? 0) > 100) ?? ''
  const { from: funder, to: _, ...rest } = at.chain.firstFunding(address) ?? assert.fail('no such address')
  await at.desk.state.write((tx) => putProven(tx, { chain: '1', address, funder, ...rest }, 'looked'))
  await needNode(at.real, '1').capabilities()
  await at.ask(address)
  assert.deepEqual(await at.wanted(), [])
})

test('no more than laterMax are gone on with; the others are told to ask again', async () => {
  await using at = await stage({ laterMax: 1 })
  await faultOf(at.ask(at.first))
  const fault = await faultOf(at.ask(at.second))
  assert.match(fault.says, /Ask again to go on from there, or index the chain \(mode: both\)\.$/)
  assert.deepEqual(await at.wanted(), [at.first])
})

test('a node that fails is left alone for a while, and nothing is lost', async () => {
  await using at = await stage({ timeoutMs: 400 })
  await faultOf(at.ask(at.first))
  at.sim.faults = { chance: chance('ill'), rate: 1, kinds: ['status 500'] }
  const stop = new AbortController()
  const running = startLater(at.real, needNode(at.real, '1'), stop.signal, () => {})
  while (at.sim.rounds < 3) await new Promise((resolve) => setTimeout(resolve, 10))
  stop.abort()
  await running
  assert.deepEqual(await at.wanted(), [at.first])
})

/** A whole server on the stage; started again on the same folder, it finds what was there. */
async function server(at: Awaited<ReturnType<typeof stage>>, dataDir: string, more: object = {}) {
  const settings = settingsWith({ server: { port: 0 }, explorer: at.desk.settings.explorer, ...more })
  let laterMs = 0
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs }
  const { desk, inject, close } = await start({ settings, dataDir, log: at.desk.log, clock })
  const { key } = await createKey(desk.state, { name: 'later', plan: 'enterprise' }, desk.clock, desk.random)
  const apikey = encodeURIComponent(key)
  return {
    ...{ state: desk.state, inject },
    fundedBy: (address: string) =>
      inject({ url: `/v2/api?module=account&action=fundedby&address=${address}&apikey=${apikey}` }),
    trail: (address: string) => inject({ url: `/v2/trail?address=${address}&apikey=${apikey}` }),
    /** What /metrics says is wanted. */
    open: async () => {
      laterMs += 1000
      return /^tetrad_searches_open\{chain="1"\} (\d+)$/m.exec((await inject({ url: '/metrics' })).body)?.[1]
    },
    [Symbol.asyncDispose]: close,
  }
}

async function folder() {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-later-'))
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
}

test('the whole server: the same request again and again, until it is answered', async () => {
  await using at = await stage({ callsMax: 150 })
  await using home = await folder()
  await using running = await server(at, home.dir)
  const first = await running.fundedBy(at.first)
  assert.deepEqual([first.json().message, Number(first.headers['retry-after']) >= 1], ['NOTOK', true])
  const trail = await running.trail(at.second)
  assert.deepEqual([trail.json().result.end.reason, Number(trail.headers['retry-after']) >= 1], ['unknown', true])
  // Nobody asks while the server goes on.
  while ((await wantedOf(running.state, '1', 1)).length > 0) await new Promise((resolve) => setTimeout(resolve, 50))
  const { status, result } = (await running.fundedBy(at.first)).json()
  assert.deepEqual([status, result.block], ['1', at.chain.firstFunding(at.first)?.block])
  assert.equal(await running.open(), '0')
})

test('/metrics tells how many are wanted right now: from the start, with each that is added or ends, after a restart', async () => {
  await using at = await stage()
  await using home = await folder()
  // Nobody goes on with them here, so that the figures stand still.
  const alone = { ingest: { on: false } }
  {
    await using running = await server(at, home.dir, alone)
    assert.equal(await running.open(), '0')
    await running.fundedBy(at.first)
    assert.equal(await running.open(), '1')
    await running.trail(at.second)
    assert.equal(await running.open(), '2')
  }
  await using again = await server(at, home.dir, alone)
  assert.equal(await again.open(), '2')
  await again.state.write((tx) => unwant(tx, '1', at.first))
  assert.equal(await again.open(), '1')
})

test('one that no node can answer is given up, and so is one that comes no further', async () => {
  await using blind = await stage({}, { traces: [] })
  await blind.desk.state.write((tx) => want(tx, '1', blind.first, 1))
  await blind.run(() => true)
  assert.deepEqual(await blind.wanted(), [])
  await using poor = await stage({ callsMax: 50, fanOut: 30 })
  await faultOf(poor.ask(poor.first))
  await poor.run(() => true)
  assert.deepEqual(await poor.wanted(), [])
})
