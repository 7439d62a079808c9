// Reads the recorded chain of a running Prysm over the fork to Gloas, and compares every measure with a truth from the
// client's own answers. The client follows an older draft of the rules than Tetrad, which differs in two points that this
// chain shows (test/recordings/prysm-gloas): trees of hashes, and the head of votes for empty slots.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import type { ConsensusRules } from '#sources/beacon/consensus.ts'
import { readBlock } from '#sources/beacon/read-block.ts'
import { type Exchange, exchangesOf, openReplay, type Replay } from '#test/beacon-replay.ts'
import { type PrysmGloasEpoch, prysmGloasRecording, prysmGloasTruth } from '#test/prysm-recording.ts'
import { openStatesOf, readEpoch } from '#test/read-states.ts'
import { slotOfBlock } from '#test/recorded-chain.ts'
import type { Measure } from '../method/measures.ts'
import { type Carry, processEpoch } from './epochs/process-epoch.ts'
import { Sums } from './epochs/sums.ts'

const answers = () => exchangesOf(`${prysmGloasRecording}/answers.ndjson`)

const beaconOf = ({ url }: Replay) =>
  openBeacon({ network: 'devnet', urls: [url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })

/** Roots of blocks since the fork, as hex without prefix: those of the older draft → those that follow from the bytes. */
type NewRoots = ReadonlyMap<string, string>

function withRoots(exchange: Exchange, roots: NewRoots): Exchange {
  const { status, bodyEncoding, body } = exchange
  if (status !== 200 || roots.size === 0) return exchange
  const change = (text: string) => text.replaceAll(/[0-9a-f]{64}/g, (root) => roots.get(root) ?? root)
  if (bodyEncoding === 'utf8') return { ...exchange, body: change(body) }
  // A root may begin at any byte.
  const hex = Buffer.from(body, 'base64').toString('hex')
  const changed = [...roots].reduce((text, [old, root]) => text.replaceAll(old, root), hex)
  return { ...exchange, body: Buffer.from(changed, 'hex').toString('base64') }
}

function findNewRoots(rules: ConsensusRules): NewRoots {
  const roots = new Map<string, string>()
  const rootAt = new Map(
    answers().flatMap(({ path, status, body }) => {
      const slot = /\/headers\/(\d+)$/.exec(path ?? '')?.[1]
      return slot && status === 200 ? [[Number(slot), (JSON.parse(body) as { data: { root: string } }).data.root]] : []
    }),
  )
  const blocks = answers()
    .filter(
      ({ path, status, bodyEncoding }) => slotOfBlock.test(path ?? '') && status === 200 && bodyEncoding !== 'utf8',
    )
    .map((exchange) => ({ exchange, slot: Number(slotOfBlock.exec(exchange.path)?.[1]) }))
    .sort((a, b) => a.slot - b.slot)
  for (const { exchange, slot } of blocks) {
    const version = exchange.headers['eth-consensus-version']
    const bytes = new Uint8Array(Buffer.from(withRoots(exchange, roots).body, 'base64'))
    const { root } = readBlock({ is: 'ssz', bytes, version }, slot, rules)
    const old = rootAt.get(slot)
    if (old !== undefined && old !== root) roots.set(old.slice(2), root.slice(2))
  }
  return roots
}

const fieldOf = {
  ...{ assigned: 'assigned', included: 'included', inclusions: 'inclusions', inclusion_delay: 'delay' },
  ...{ correct_source: 'cs', correct_target: 'ct', correct_head: 'ch' },
  ...{ late_source: 'late_source', late_target: 'late_target', proposer_duties: 'duties', proposed: 'proposed' },
  ...{ proposed_empty: 'empty', sync_signatures: 'sync_sig', slashes_collected: 'collected' },
  ...{ slashes_received: 'received', attestation_reward: 'att_reward', sync_reward: 'sync_rew' },
  ...{ block_reward: 'block_reward', late_source_penalty: 'late_src_pen', late_target_penalty: 'late_tgt_pen' },
  ...{ wrong_target_penalty: 'wrong_tgt_pen', missed_attestation_penalty: 'missed_pen', sync_penalty: 'sync_pen' },
  ...{ missed_attestation_reward: 'missed_rew', missed_sync_reward: 'missed_sync' },
  ...{ missed_block_reward: 'missed_block', earnings: 'earn', deposited: 'deposited' },
  ...{ withdrawn: 'withdrawn', consolidated: 'consolidated' },
} as const satisfies Partial<Record<Measure, string>>

/** What the head of a vote changes, of all validators: more of them are paid for it, and each of them more. */
const followsHead: ReadonlySet<string> = new Set<Measure>([
  ...(['attestation_reward', 'missed_attestation_reward', 'block_reward', 'missed_block_reward'] as const),
  ...(['earnings', 'deposited'] as const),
])

/**
 * A vote for an empty slot that states that the payload of the block before it is part of the chain, as it is. The older draft
 * compares it with the empty slot, so it never pays for the head.
 */
const hasOtherHead = ({ rows, slots }: PrysmGloasEpoch, validator: number): boolean => {
  const row = rows.find(({ v }) => v === validator)
  const isEmpty = slots.some(([slot, , payload]) => slot === row?.duty?.[0] && payload === null)
  return isEmpty && row?.inc?.index === 1 && row.inc.rootRight
}

describe('the recorded chain of a running Prysm over the fork to Gloas', () => {
  test('every measure is right, except what the newer rules pay for votes of empty slots', async () => {
    let roots: NewRoots = new Map()
    await using node = await openReplay({
      ...{ recording: prysmGloasRecording, file: 'answers.ndjson' },
      meddle: (exchange) => withRoots(exchange, roots),
    })
    const beacon = beaconOf(node)
    const { rules } = await beacon.chain()
    roots = findNewRoots(rules)
    assert.equal(roots.size, 117)
    await using states = openStatesOf('node', beacon)
    const truth = prysmGloasTruth()
    const first = truth[0]?.epoch as number
    const { carry: before } = processEpoch(rules, await readEpoch(states, first - 1), undefined, new Sums())
    let carry: Carry | undefined = before
    let [otherHeads, compared, left] = [0, 0, 0]
    let isAfterOtherHead = false
    for (const epoch of truth) {
      const sums = new Sums()
      const processed = processEpoch(rules, await readEpoch(states, epoch.epoch), carry, sums)
      carry = processed.carry
      const others = new Set(epoch.rows.flatMap(({ v }) => (hasOtherHead(epoch, v) ? [v] : [])))
      const isAffected = others.size > 0 || isAfterOtherHead
      isAfterOtherHead = others.size > 0
      otherHeads += others.size
      for (const row of epoch.rows) {
        const amounts: Readonly<Record<string, number>> = row.amounts
        const found = (name: string) => sums.columns[name as Measure][row.v] ?? 0
        const label = `epoch ${epoch.epoch}, validator ${row.v}`
        for (const [name, field] of Object.entries(fieldOf)) {
          if (isAffected && followsHead.has(name)) {
            left += 1
            continue
          }
          const expected = name === 'correct_head' && others.has(row.v) ? 1 : (amounts[field] ?? 0)
          assert.equal(found(name) + 0, expected + 0, `${label}: ${name}`)
          compared += 1
        }
        // Whatever is not earned is a deposit, so their sum is known from the balances.
        const change = found('earnings') + found('deposited') - found('withdrawn') + found('consolidated')
        assert.equal(change + 0, (amounts.balchange ?? 0) + 0, `${label}: change of the balance`)
      }
      if (!isAffected) assert.equal(processed.unexplained, undefined, `epoch ${epoch.epoch}`)
    }
    assert.deepEqual({ otherHeads, compared, left }, { otherHeads: 86, compared: 31_440, left: 4200 })
  })

  test('computed states are refused, because the node follows other rules', async () => {
    await using node = await openReplay({ recording: prysmGloasRecording, file: 'answers.ndjson' })
    await using states = openStatesOf('computed', beaconOf(node), 'all')
    await assert.rejects(
      readEpoch(states, 20),
      /Prysm\/v7\.1\.6.* follows other rules than Tetrad: BUILDER_WITHDRAWAL_PREFIX is 0x03.*set `states: node`/,
    )
  })
})
