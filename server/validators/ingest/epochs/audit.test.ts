// The rewards that Tetrad computes are compared with those that a node reports.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openReplay, type ReplayOptions } from '#test/beacon-replay.ts'
import { NodeStates } from '../read/node-states.ts'
import { type AuditLine, auditEpochs } from './audit.ts'

async function audit(meddle?: ReplayOptions['meddle']): Promise<readonly AuditLine[]> {
  await using node = await openReplay(meddle ? { meddle } : {})
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const lines: AuditLine[] = []
  const epochs = { from: 4, until: 7 }
  for await (const ofEpoch of auditEpochs(beacon, new NodeStates(beacon), epochs, new AbortController().signal))
    lines.push(...ofEpoch)
  return lines
}

test('all rewards agree with those of the recorded node', async () => {
  const lines = await audit()
  assert.deepEqual([...new Set(lines.map(({ epoch }) => epoch))], [4, 5, 6])
  for (const { part, compared, differing } of lines) {
    assert.equal(differing, 0)
    if (part === 'target') assert.equal(compared, 64, 'all validators are eligible')
  }
  assert(lines.some(({ part, compared }) => part === 'block' && compared > 5))
  assert(lines.some(({ part, compared }) => part === 'sync' && compared > 100))
})

test('differences are counted and added up', async () => {
  const lines = await audit((exchange) => {
    if (!exchange.path.endsWith('/rewards/attestations/5')) return exchange
    // The node reports 7 gwei more for the targets of epoch 5.
    const body = exchange.body.replaceAll(/("target":")(-?\d+)/g, (_, name, gwei) => `${name}${Number(gwei) + 7}`)
    return { ...exchange, body }
  })
  const differences = lines.filter(({ differing }) => differing > 0)
  assert.deepEqual(differences, [{ epoch: 5, part: 'target', compared: 64, differing: 64, gwei: 448 }])
})

test('a node that does not report rewards leads to lines without comparisons', async () => {
  const lines = await audit((exchange) =>
    exchange.path.includes('/rewards/') ? { ...exchange, status: 404, body: '{}' } : exchange,
  )
  assert(lines.length > 0 && lines.every(({ compared, differing }) => compared === 0 && differing === 0))
})
