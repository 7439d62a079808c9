import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { plainSettings, settingsWith } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { noRedis, startRedis } from '#test/redis.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { connectivityFindings } from './connectivity.ts'

const limitsOf = async (limits: string, clock = systemClock) =>
  (await connectivityFindings({ settings: settingsWith({ limits }), clock })).find(
    ({ name }) => name === 'limits in Redis',
  )

test('the Redis of the limits is reachable, or the finding says why not and what to do', {
  skip: noRedis,
}, async () => {
  await using redis = await startRedis()
  // With a clock that stands still no response is too late.
  assert.deepEqual(await limitsOf(redis.url, new ManualClock(0)), {
    name: 'limits in Redis',
    level: 'ok',
    message: 'reachable',
  })
  await redis.kill()
  const gone = await limitsOf(redis.url)
  assert.equal(gone?.level, 'fail')
  assert.match(gone?.message ?? '', /ECONNREFUSED/)
  assert.match(gone?.todo ?? '', /check the URL in limits/)
  assert.equal(await limitsOf(''), undefined)
})

test('a node that cannot trace fails if the chain is to be indexed', async () => {
  const chain = new SimulatedChain({ seed: 'connectivity' })
  chain.mine(20)
  await using node = new LimitedNode(chain, { traces: ['debug_traceTransaction'], ignoresTracer: true })
  const rpc = [{ url: await node.listen() }]
  const about = async (mode: string) => {
    const settings = settingsWith({ explorer: { chains: [{ id: '1', name: 'One', mode, rpc }] } })
    const findings = await connectivityFindings({ settings, clock: systemClock })
    return findings.find(({ message }) => message.startsWith('no traces'))
  }
  assert.equal((await about('probe'))?.level, 'warn')
  const { level, message } = (await about('index')) ?? assert.fail()
  assert.equal(level, 'fail')
  assert.match(message, /^no traces \(no call traces from debug_traceTransaction\): .*cannot be indexed/)
})

test('a beacon node of another chain fails the check', async () => {
  const chain = simulateNetwork('doctor')
  await using node = await openNodeOfRun(chain)
  const about = async (genesisUnix: number) => {
    const settings = plainSettings({
      validators: { networks: { mainnet: { genesisUnix, beacon: { urls: [node.url] } } } },
    })
    const findings = await connectivityFindings({ settings, clock: systemClock })
    return findings.filter(({ name }) => name === 'beacon mainnet').map(({ level, message }) => `${level}: ${message}`)
  }
  assert.deepEqual(await about(chain.genesisUnix), [`ok: reachable, genesis ${chain.genesisUnix}`])
  const [refused, ...others] = await about(1_606_824_023)
  assert.deepEqual(others, [])
  const reason = `it is on another chain: genesisUnix is ${chain.genesisUnix}, not 1606824023`
  assert.ok(refused?.startsWith(`fail: refused: mainnet: ${node.url}: ${reason}`))
})

test('an execution node of another chain fails the check of its network, with the setting', async () => {
  const chain = new SimulatedChain({ seed: 'execution', id: '32382' })
  chain.mine(3)
  await using node = new LimitedNode(chain)
  const rpc = [{ url: await node.listen() }]
  const about = async (execution: object) => {
    const settings = settingsWith({ validators: { networks: { hoodi: { execution: { rpc, ...execution } } } } })
    const findings = await connectivityFindings({ settings, clock: systemClock })
    return findings.find(({ name }) => name === 'execution hoodi') ?? assert.fail('not checked')
  }
  const refused = await about({})
  assert.equal(refused.level, 'fail')
  assert.match(refused.message, /^refused: .* is on chain 32382, not 560048$/)
  assert.match(refused.todo ?? '', /set validators\.networks\.hoodi\.execution\.chainId/)
  const { level, message } = await about({ chainId: '32382' })
  assert.deepEqual([level, message], ['ok', `reachable, chain 32382, block ${chain.head.number}`])
})
