import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { blocksStream, confirmHead, putHead } from '#explorer/funding/chain-coverage.ts'
import { putFundings } from '#explorer/funding/fundings.ts'
import { forgetFrom } from '#explorer/funding/index/forget.ts'
import { storeFeedState } from '#markets/feeds/feed-progress.ts'
import { newFeedState } from '#markets/read/feed-state.ts'
import { storeRejects } from '#markets/write/rejects.ts'
import { systemClock } from '#runtime/clock.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { addCoverage } from '#storage/coverage.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { openContext, settingsWith } from '#test/context.ts'
import { type DemoServer, openDemoServer } from '#test/demo-server.ts'
import { firstFunding } from '#test/simulator/first-funding.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'
import { putValidators } from '#validators/registry/registry.ts'
import { connectivityFindings } from './connectivity.ts'
import type { DoctorFinding } from './diagnosis.ts'
import { storeDiagnoses, verifications } from './doctor.ts'
import { machineFindings, settingsFindings } from './machine.ts'

const named = (findings: readonly DoctorFinding[], name: string) => {
  const found = findings.find((one) => one.name === name)
  assert.ok(found, `${name} is not among ${findings.map((one) => one.name).join(', ')}`)
  return found
}
const verificationOf = (name: string) => {
  const found = verifications.find((one) => one.name.startsWith(name))
  assert.ok(found, name)
  return found
}

test('an index that is not kept up to date is not healthy, in any mode', async () => {
  const rpc = [{ url: 'http://127.0.0.1:9' }]
  const chains = ['probe', 'both', 'index'].map((mode, at) => ({ id: String(at + 1), name: mode, mode, rpc }))
  await using opened = await openContext({ explorer: { chains: [...chains, { ...chains[0], id: '4' }] } })
  // The doctor calls nodes with timeouts, so time must pass by itself.
  let aheadMs = 0
  const context = { ...opened, clock: { ...systemClock, now: () => systemClock.now() + aheadMs } }
  for (const { id } of chains) {
    await context.ingest.write(async (tx) => {
      await addCoverage(tx, blocksStream(id), 0, 100)
      await putHead(tx, id, 100)
    })
    await confirmHead(context.ingest, id, 100, context.clock.now())
  }
  const levels = async () => {
    const findings = await storeDiagnoses(context, 0)
    return ['1', '2', '3', '4'].map((id) => named(findings, `chain ${id}`).level)
  }
  assert.deepEqual(await levels(), ['ok', 'ok', 'ok', 'ok'])
  // The clock was set back: the confirmation is in the future.
  aheadMs = -86_400_000
  assert.deepEqual(await levels(), ['warn', 'fail', 'fail', 'ok'])
  assert.match(named(await storeDiagnoses(context, 0), 'chain 2').message, /24.0 h ahead of this clock/)
  aheadMs = 301_000
  assert.deepEqual(await levels(), ['warn', 'fail', 'fail', 'ok'])
  const { message, todo } = named(await storeDiagnoses(context, 0), 'chain 1')
  assert.match(`${message} ${todo}`, /its index up to block 99 is not kept up to date .*mode: both/)
  // Removing some blocks does not make the rest up to date.
  await forgetFrom(context.ingest, '2', 50)
  await forgetFrom(context.ingest, '1', 50)
  assert.deepEqual(await levels(), ['warn', 'warn', 'fail', 'ok'])
})

describe('stored results of the demo', () => {
  let world: DemoServer
  before(async () => {
    world = await openDemoServer()
  })
  after(() => world[Symbol.asyncDispose]())

  test('a sample of the demo data can be derived again; the gap in the demo is only a warning', async () => {
    const made = await fetch(`${world.url}/v1/exchange/fx/quotes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        from: { currency: 'USDC', amount: '5' },
        to: { currency: 'EURC' },
        tenor: 'instant',
        type: 'reference',
      }),
    })
    assert.equal(made.status, 200)
    const findings = await storeDiagnoses(world.server.context, 10)
    assert.deepEqual(
      findings.filter(({ level }) => level === 'fail'),
      [],
    )
    // A sample never contains an item twice: there is only one quote.
    assert.equal(named(findings, 'verify: quotes against their rates').message, '1 agree')
    assert.match(
      named(findings, 'verify: rates against their sources').message,
      /^16 agree \(\d+ identical, \d+ newer and close\)$/,
    )
    assert.match(named(findings, 'verify: markets against their feeds').message, /agree|changed since/)
    const { level, todo } = named(findings, 'chain 137')
    assert.deepEqual([level, todo], ['warn', 'add a node (explorer.chains[].rpc), then run: tetrad repair --chain 137'])
  })

  test('a quote whose price does not follow from its rates is reported', async () => {
    const { state } = world.server.context
    await state.write((tx) =>
      tx.run(`update fx_quotes set priced_from = replace(priced_from, '"amount":"5"', '"amount":"6"')`),
    )
    const { differing } = await verificationOf('quotes against').run(world.server.context, 2)
    assert.match(differing[0] ?? '', /^quote [0-9a-f-]{36}: .*but should be/)
    const finding = named(await storeDiagnoses(world.server.context, 2), 'verify: quotes against their rates')
    assert.equal(finding.level, 'fail')
    assert.match(finding.todo ?? '', /keep the quote and its receipt/)
  })
})

describe('first fundings', () => {
  test('are searched again in a node; a difference is reported with both transfers', async () => {
    const chain = new SimulatedChain({ seed: 'doctor', id: '77', finalLag: 6 })
    chain.mine(40)
    await using node = new LimitedNode(chain)
    const url = await node.listen()
    const chains = [{ id: '77', name: 'Simulated', mode: 'both', rpc: [{ url, batchMax: 10 }] }]
    await using context = await openContext({ explorer: { chains } })
    const { systemClock } = await import('#runtime/clock.ts')
    const live = { ...context, clock: systemClock }
    const { fillFinalBlocks } = await import('#explorer/funding/index/index-chain.ts')
    const { requireNode } = await import('#explorer/nodes.ts')
    const stop = new AbortController()
    await fillFinalBlocks(live, requireNode(live, '77'), { from: 0, until: chain.final + 1 }, () => {}, stop.signal)
    const good = await verificationOf('first fundings').run(live, 5)
    assert.deepEqual([good.checked, good.differing, good.note], [5, [], undefined])
    await context.ingest.write((tx) => tx.run(`update fundings set value_wei = '12345', tx = ?`, new Uint8Array(32)))
    const { differing } = await verificationOf('first fundings').run(live, 3)
    assert.match(
      differing[0] ?? '',
      /^chain 77 0x[0-9a-f]{40}: stored 0x0{64} in block \d+, the node shows 0x[0-9a-f]{64} with \d+ wei$/,
    )
  })

  test('agree for an account that never sent a transaction', async () => {
    const chain = new SimulatedChain({ seed: 'doctor', id: '77', finalLag: 6 })
    chain.mine(40)
    await using node = new LimitedNode(chain, { traces: ['trace_block'] })
    const chains = [{ id: '77', name: 'Simulated', rpc: [{ url: await node.listen() }] }]
    await using context = await openContext({ explorer: { chains } })
    const { systemClock } = await import('#runtime/clock.ts')
    const address = chain.addresses().find((one) => {
      const { nonce, code } = chain.accountAt(one, chain.head.number)
      return nonce === 0n && code === '0x' && (firstFunding(chain, one)?.block ?? 0) > 10
    })
    const { from: funder, to: _, ...rest } = firstFunding(chain, address ?? '') ?? assert.fail('no such address')
    await context.ingest.write((tx) => putFundings(tx, [{ chain: '77', address: address ?? '', funder, ...rest }]))
    const { checked, differing, note } = await verificationOf('first fundings').run(
      { ...context, clock: systemClock },
      3,
    )
    assert.deepEqual([checked, differing, note], [1, [], undefined])
  })

  test('a stored transfer that is real but not the first is reported', async () => {
    const chain = new SimulatedChain({ seed: 'later', id: '77', finalLag: 6 })
    chain.mine(60)
    await using node = new LimitedNode(chain)
    const chains = [{ id: '77', name: 'Simulated', mode: 'both', rpc: [{ url: await node.listen(), batchMax: 10 }] }]
    await using context = await openContext({ explorer: { chains } })
    const { systemClock } = await import('#runtime/clock.ts')
    const live = { ...context, clock: systemClock }
    const { fillFinalBlocks } = await import('#explorer/funding/index/index-chain.ts')
    const { requireNode } = await import('#explorer/nodes.ts')
    const signal = AbortSignal.timeout(60_000)
    // Only the later half is read, as if the coverage of the rest were wrong.
    await fillFinalBlocks(live, requireNode(live, '77'), { from: 30, until: chain.final + 1 }, () => {}, signal)
    const { differing } = await verificationOf('first fundings').run(live, 60)
    assert.ok(differing.length > 0)
    for (const text of differing) {
      const [, stored, shown] = /in block (\d+), the node shows 0x[0-9a-f]{64} in block (\d+)$/.exec(text) ?? []
      assert.ok(Number(shown) < 30 && Number(stored) >= 30, text)
    }
  })

  test('without a node, the result says that none were checked', async () => {
    await using context = await openContext()
    await context.ingest.write((tx) => putFundings(tx, []))
    assert.deepEqual(await verificationOf('first fundings').run(context, 3), {
      checked: 0,
      differing: [],
      note: 'no chain has a node',
    })
  })

  test('an unreachable node is a warning that says why nothing was compared', async () => {
    const explorer = { chains: [{ id: '1', name: 'Gone', rpc: [{ url: 'http://127.0.0.1:9', timeoutMs: 100 }] }] }
    await using context = await openContext({ explorer })
    const [address, funder, tx] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`, `0x${'33'.repeat(32)}`]
    const position = { chain: '1', block: 5, txIndex: 0, position: 0, timeUnix: 7 }
    await context.ingest.write((tx_) => putFundings(tx_, [{ ...position, address, funder, tx, valueWei: 1n }]))
    const { systemClock } = await import('#runtime/clock.ts')
    const real = { ...context, clock: systemClock }
    const { level, message } = named(await storeDiagnoses(real, 3), `verify: ${verificationOf('first fundings').name}`)
    assert.equal(level, 'warn')
    assert.match(message, /^none could be compared: .*node_unavailable/)
  })
})

describe('public keys of validators', () => {
  const pubkeyOf = (index: number) => `0x${String(index).padStart(2, '0').repeat(48)}`
  const entry = (index: number, pubkey: string) => ({
    index,
    pubkey,
    activationEligibilityEpoch: 0,
    activationEpoch: 0,
    exitEpoch: null,
    withdrawableEpoch: null,
    withdrawalAddress: null,
  })

  test('are compared with a beacon node; a difference is reported with both keys', async () => {
    await using node = await openReplay({
      meddle: (exchange) => {
        const index = /\/states\/finalized\/validators\/(\d+)$/.exec(exchange.path)?.[1]
        if (index === undefined) return exchange
        const body = JSON.stringify({ data: { index, validator: { pubkey: pubkeyOf(Number(index)) } } })
        return { ...exchange, status: 200, headers: { 'content-type': 'application/json' }, body }
      },
    })
    const beacon = { urls: [node.url], timeoutMs: 5000 }
    await using context = await openContext({ validators: { networks: { hoodi: { beacon } } } })
    const { systemClock } = await import('#runtime/clock.ts')
    const live = { ...context, clock: systemClock }
    await putValidators(
      context.ingest,
      'hoodi',
      [3, 7, 11].map((index) => entry(index, pubkeyOf(index))),
    )
    assert.deepEqual(await verificationOf('public keys').run(live, 5), { checked: 3, differing: [] })
    await putValidators(context.ingest, 'hoodi', [entry(20, pubkeyOf(21))])
    await context.ingest.write((tx) => tx.run('delete from validators where validator_index < 20'))
    const { differing } = await verificationOf('public keys').run(live, 2)
    assert.deepEqual(differing, [`hoodi validator 20: stored ${pubkeyOf(21)}, the node shows ${pubkeyOf(20)}`])
  })

  test('a node that does not find a validator is no difference, and the result says what it answered', async () => {
    const answers: readonly [status: number, body: object, reason: RegExp][] = [
      [404, { code: 404, message: 'state not found' }, /no public key \(status 404: .*state not found.*\)/],
      [200, { data: { index: '3' } }, /no public key/],
    ]
    for (const [status, body, reason] of answers) {
      await using node = await openReplay({
        meddle: (exchange) =>
          exchange.path.includes('/states/finalized/validators/')
            ? { ...exchange, status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
            : exchange,
      })
      const beacon = { urls: [node.url], timeoutMs: 5000 }
      await using context = await openContext({ validators: { networks: { hoodi: { beacon } } } })
      const { systemClock } = await import('#runtime/clock.ts')
      await putValidators(context.ingest, 'hoodi', [entry(3, pubkeyOf(3))])
      const result = await verificationOf('public keys').run({ ...context, clock: systemClock }, 5)
      assert.deepEqual([result.checked, result.differing], [0, []])
      assert.match(result.unable ?? '', /^hoodi validator 3: in its last finalized state, /)
      assert.match(result.unable ?? '', reason)
    }
  })

  test('without a beacon node, the result says why none were checked', async () => {
    await using context = await openContext()
    const { note } = await verificationOf('public keys').run(context, 1)
    assert.equal(note, 'no network has a beacon node')
  })
})

describe('market feeds', () => {
  test('a feed that omits too many markets, or has records that cannot be stored, fails', async () => {
    await using context = await openContext({ markets: { feeds: [{ id: 'main', url: 'http://127.0.0.1:9/' }] } })
    const nowMs = context.clock.now()
    const storeAbsent = (absent: number) =>
      context.ingest.write((tx) =>
        storeFeedState(tx, { ...newFeedState('main'), fullAtMs: nowMs, doneAtMs: nowMs, absent }),
      )
    const finding = async () => named(await storeDiagnoses(context, 0), 'feed main')
    await storeAbsent(50)
    const empty = await finding()
    assert.deepEqual([empty.level, /50 markets/.test(empty.message)], ['fail', true])
    assert.match(empty.todo ?? '', /vanishShareMax: 1/)
    await storeAbsent(0)
    assert.equal((await finding()).level, 'ok')
    const reject = { kind: 'market', id: '7', slug: '', location: '', problems: [] } as const
    await context.ingest.write((tx) => storeRejects(tx, 'main', [reject], nowMs))
    const rejected = await finding()
    assert.deepEqual([rejected.level, /^1 record has no id/.test(rejected.message)], ['fail', true])
    assert.match(rejected.todo ?? '', /tetrad markets rejects/)
  })
})

describe('machine', () => {
  test('a folder that other users can read is a warning with the command that fixes it', async () => {
    await using context = await openContext()
    assert.equal(named(await machineFindings(context.dir), 'data folder').level, 'ok')
    await chmod(context.dir, 0o755)
    const finding = named(await machineFindings(context.dir), 'data folder')
    assert.deepEqual([finding.level, finding.todo], ['warn', `chmod 700 ${context.dir}`])
  })

  test('a missing folder fails; an intact state file is ok', async () => {
    await using context = await openContext()
    assert.equal(named(await machineFindings(join(context.dir, 'no')), 'data folder').level, 'fail')
    assert.match(named(await machineFindings(context.dir), 'state.sqlite').message, /intact/)
    assert.match(named(await machineFindings(context.dir), 'disk').message, /[GM]iB free/)
    // Recorded states are in subfolders.
    await mkdir(join(context.dir, 'beacon', 'hoodi'), { recursive: true })
    await writeFile(join(context.dir, 'beacon', 'hoodi', '7-record'), '')
    await truncate(join(context.dir, 'beacon', 'hoodi', '7-record'), 3 * 2 ** 40)
    assert.match(named(await machineFindings(context.dir), 'disk').message, /free, 3072\.0 GiB of data$/)
  })

  test('for a state file that cannot be read, the advice names its owner before a backup', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'tetrad-doctor-'))
    const file = join(dir, 'state.sqlite')
    const advice = /^run the doctor as the user of the server; if the file is damaged, .* restore the last backup$/
    try {
      // A link to itself fails as a file without permission does, also for root.
      const unreadable = () => symlink('state.sqlite', file)
      for (const spoil of [() => mkdir(file), () => writeFile(file, 'x'.repeat(5000)), unreadable]) {
        await spoil()
        const { level, todo } = named(await machineFindings(dir), 'state.sqlite')
        assert.equal(level, 'fail')
        assert.match(todo ?? '', advice)
        await rm(file, { recursive: true })
      }
      await unreadable()
      const { message, todo } = named(await machineFindings(file), 'data folder')
      assert.match(`${message} → ${todo}`, /^ELOOP.* → check its owner and permissions$/)
    } finally {
      await rm(dir, { recursive: true })
    }
  })

  test('settings that are valid but probably not intended are warnings', () => {
    assert.deepEqual(
      settingsFindings(settingsWith(), false).map(({ name }) => name),
      ['configuration'],
    )
    const open = settingsWith({
      server: { host: '0.0.0.0' },
      fx: { sources: [{ id: 'desk', kind: 'push' }] },
    })
    assert.deepEqual(
      settingsFindings(open, true).map(({ name }) => name),
      ['server.publicUrl', 'fx.spender'],
    )
    const meant = settingsWith({ server: { host: '0.0.0.0', publicUrl: 'https://data.test' } })
    const about = (fx: object) => settingsFindings(settingsWith({ fx }), true).map(({ name, level }) => [name, level])
    const spender = `0x${'33'.repeat(20)}`
    const bank = { id: 'bank', kind: 'ecb', path: 'rates.xml' }
    assert.deepEqual(about({ terms: { instant: { feeBps: 3 } } }), [['fx.spender', 'warn']])
    assert.deepEqual(about({ spender, sources: [bank] }), [['fx.sources', 'warn']])
    assert.deepEqual(about({ spender, sources: [bank, { id: 'desk', kind: 'push' }] }), [['configuration', 'ok']])
    assert.deepEqual(
      settingsFindings(meant, true).map(({ level }) => level),
      ['ok'],
    )
  })
})

test('a shared database without shared limits is a warning', () => {
  const shared = { store: { state: 'postgres://db.test/tetrad' } }
  const about = (settings: object) =>
    settingsFindings(settingsWith(settings), true).find(({ name }) => name === 'limits')
  const found = about(shared)
  assert.equal(found?.level, 'warn')
  assert.match(found?.todo ?? '', /a single server needs none/)
  assert.equal(about({ ...shared, limits: 'redis://cache.test' }), undefined)
  assert.equal(about({}), undefined)
})

describe('connectivity', () => {
  /** A server whose clock is off by `leadMs`. */
  async function source(leadMs: number, body: unknown) {
    const server = createServer((_, response) => {
      response.setHeader('date', new Date(Date.now() + leadMs).toUTCString())
      response.end(JSON.stringify(body))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/rates?secret=1`
    const close = () => new Promise<void>((resolve) => server.close(() => resolve()))
    return { url, [Symbol.asyncDispose]: close }
  }
  const rates = { rates: [{ base: 'EUR', quote: 'USD', rate: '1.08', time: new Date().toISOString() }] }

  test('a reachable source is ok, an unreachable one fails, and no finding contains a complete URL', async () => {
    await using good = await source(0, rates)
    await using context = await openContext({
      fx: {
        sources: [
          { id: 'good', kind: 'http-json', url: good.url },
          { id: 'gone', kind: 'http-json', url: 'http://127.0.0.1:9/x?secret=1' },
        ],
      },
      markets: { feeds: [{ id: 'main', url: good.url }] },
      validators: { networks: { hoodi: { beacon: { urls: [good.url] } } } },
    })
    const { systemClock } = await import('#runtime/clock.ts')
    const findings = await connectivityFindings({ settings: context.settings, clock: systemClock })
    assert.match(named(findings, 'rates good').message, /returned 1 rate$/)
    assert.deepEqual(
      [named(findings, 'rates gone').level, named(findings, 'rates gone').todo !== undefined],
      ['fail', true],
    )
    assert.match(named(findings, 'feed main').message, /is not a list/)
    assert.equal(named(findings, 'beacon hoodi').level, 'fail')
    assert.equal(named(findings, 'clock').level, 'ok')
    assert.ok(!JSON.stringify(findings).includes('secret=1'))
  })

  for (const [leadMs, level] of [
    [600_000, 'fail'],
    [-10_000, 'warn'],
  ] as const) {
    test(`a clock that differs by ${leadMs / 1000} s is ${level}`, async () => {
      await using other = await source(leadMs, rates)
      const settings = settingsWith({ fx: { sources: [{ id: 'good', kind: 'http-json', url: other.url }] } })
      const { systemClock } = await import('#runtime/clock.ts')
      const clock = named(await connectivityFindings({ settings, clock: systemClock }), 'clock')
      assert.equal(clock.level, level, clock.message)
      assert.match(clock.message, leadMs > 0 ? /^(599|60\d)\.\d s behind/ : /^(9|10)\.\d s ahead of/)
    })
  }
})
