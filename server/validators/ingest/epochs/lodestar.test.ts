// Compares all figures of an epoch with those of Lodestar, on chains with slashings, exits, deposits, consolidations,
// withdrawals and compounding validators, in Deneb, Electra and Fulu (test/recordings/lodestar).
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { epochAt } from '#sources/beacon/consensus.ts'
import { openReplay, type Replay, unpackRecording } from '#test/beacon-replay.ts'
import { openContext } from '#test/context.ts'
import { bothStates, openStatesOf, readEpoch } from '#test/read-states.ts'
import { withHead } from '#test/recorded-chain.ts'
import { storedRows } from '#test/stored-duties.ts'
import type { Measure } from '#validators/method/measures.ts'
import { readValidator } from '#validators/registry/registry.ts'
import { Follower } from '../follow.ts'
import { withChainTimes } from '../read/chain-identity.ts'
import { type Carry, type ProcessedEpoch, processEpoch } from './process-epoch.ts'
import { Sums } from './sums.ts'

interface TruthEpoch {
  readonly epoch: number
  /** Gwei by validator. */
  readonly earned: readonly number[]
  /** Balance changes by deposits and consolidations. */
  readonly transfers: readonly (readonly [validator: number, gwei: number])[]
  /** Source, target, head and inactivity of the votes of this epoch; null: not eligible. */
  readonly rewards: readonly (readonly [number, number, number, number] | null)[]
  /** Timely flags by validator. */
  readonly flags: readonly number[]
  /** Inactivity scores by validator, after the votes of this epoch were rewarded. */
  readonly scores: readonly number[]
}

interface TruthBlock {
  readonly slot: number
  readonly proposer: number
  readonly attestations: number
  readonly sync: number
  readonly slashing: number
  readonly syncSeat: number
}

interface Truth {
  readonly finalizedEpoch: number
  readonly epochs: readonly TruthEpoch[]
  readonly blocks: readonly TruthBlock[]
  readonly events: Readonly<Record<string, number>>
}

const folder = join(import.meta.dirname, '../../../../test/recordings/lodestar')
const chains = readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
)
const truthOf = (chain: string): Truth => JSON.parse(unpackRecording(`lodestar/${chain}/truth.json`)) as Truth

const openRecorded = (chain: string): Promise<Replay> =>
  openReplay({ recording: `lodestar/${chain}`, meddle: withHead(`lodestar/${chain}`) })

const beaconOf = (node: Replay) =>
  openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })

function assertRewards({ voteRewards, scores, votes }: ProcessedEpoch, truth: TruthEpoch): void {
  const { source, target, head, inactivity, eligible } = voteRewards
  for (const [index, expected] of truth.rewards.entries()) {
    const label = `epoch ${truth.epoch}, validator ${index}`
    assert.equal(eligible[index] ?? 0, expected ? 1 : 0, `${label} is eligible`)
    const parts = [source, target, head, inactivity].map((part) => part[index] ?? 0)
    assert.deepEqual(parts, expected ?? [0, 0, 0, 0], `${label}: source, target, head, inactivity`)
    assert.equal(votes.timely[index] ?? 0, truth.flags[index], `${label}: timely flags`)
    assert.equal(scores.get(index) ?? 0, truth.scores[index] ?? 0, `${label}: inactivity score`)
  }
}

for (const chain of chains) {
  describe(chain, () => {
    const truth = truthOf(chain)
    for (const kind of bothStates) {
      test(`rewards, scores, earnings and transfers of each epoch, with states: ${kind}`, async () => {
        await using node = await openRecorded(chain)
        const beacon = beaconOf(node)
        const { rules } = await beacon.chain()
        await using states = openStatesOf(kind, beacon)
        let carry: Carry | undefined
        for (const expected of truth.epochs.slice(0, truth.finalizedEpoch - 1)) {
          const { epoch } = expected
          const sums = new Sums()
          const processed = processEpoch(rules, await readEpoch(states, epoch), carry, sums)
          carry = processed.carry
          assertRewards(processed, expected)
          for (const [index, gwei] of expected.earned.entries())
            assert.equal(sums.columns.earnings[index] ?? 0, gwei, `epoch ${epoch}, validator ${index}: earnings`)
          assert.equal(processed.unexplained, undefined)
          const changes = new Map<number, number>()
          for (const [index, gwei] of [...processed.transfers.deposited, ...processed.transfers.consolidated])
            changes.set(index, (changes.get(index) ?? 0) + gwei)
          const present = [...changes].filter(([, gwei]) => gwei !== 0)
          assert.deepEqual(new Map(present), new Map(expected.transfers))
          assert.deepEqual(
            processed.effects.map(({ slot, proposer, votes, sync, slashings, syncSeat }) => ({
              ...{ slot, proposer, attestations: votes, sync, slashing: slashings, syncSeat },
            })),
            truth.blocks.filter(({ slot }) => epochAt(rules, slot) === epoch),
          )
        }
      })
    }

    test('the stored sums and the registry', async () => {
      await using node = await openRecorded(chain)
      await using context = await openContext({
        validators: {
          networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4, beacon: { urls: [node.url], fromEpoch: 0 } } },
        },
      })
      const settings = await withChainTimes({ ...context, clock: systemClock })
      const follower = new Follower({ ...context, settings }, 'hoodi', beaconOf(node))
      const { until } = await follower.catchUp(new AbortController().signal)
      assert.equal(until, truth.finalizedEpoch - 1)
      const rows = Map.groupBy(
        await storedRows({ ...context, settings }, 'hoodi', 'days'),
        ({ validator }) => validator,
      )
      const expected = expectedSums(truth, until)
      const firstSlot = until * settings.validators.networks.hoodi.slotsPerEpoch
      const states = `${node.url}/eth/v1/beacon/states/${firstSlot}/validators`
      const { data } = (await (await fetch(states)).json()) as { data: readonly NodeValidator[] }
      for (const [index, { validator }] of data.entries()) {
        const sumOf = (name: Measure) => (rows.get(index) ?? []).reduce((sum, row) => sum + row[name], 0)
        const sums = Object.fromEntries(
          Object.entries(stored).map(([name, of]) => [name, of.reduce((sum, measure) => sum + sumOf(measure), 0)]),
        )
        assert.deepEqual(sums, expected[index] ?? noSums, `validator ${index}`)
        const entry = await readValidator(context.ingest, 'hoodi', index)
        assert.equal(entry?.pubkey, validator.pubkey)
        assert.deepEqual(
          [
            ...[entry?.activationEligibilityEpoch, entry?.activationEpoch, entry?.exitEpoch, entry?.withdrawableEpoch],
            entry?.withdrawalAddress,
          ],
          [
            ...[validator.activation_eligibility_epoch, validator.activation_epoch].map(toEpoch),
            ...[validator.exit_epoch, validator.withdrawable_epoch].map(toEpoch),
            toAddress(validator.withdrawal_credentials),
          ],
          `validator ${index}`,
        )
      }
    })
  })
}

/** Which measures add up to each expected sum. */
const stored = {
  earnings: ['earnings'],
  voteRewards: ['attestation_reward'],
  votePenalties: ['missed_attestation_penalty', 'late_source_penalty', 'late_target_penalty', 'wrong_target_penalty'],
  blockRewards: ['block_reward'],
} as const satisfies Record<string, readonly Measure[]>

const noSums = { earnings: 0, voteRewards: 0, votePenalties: 0, blockRewards: 0 }

function expectedSums({ epochs, blocks }: Truth, until: number): (typeof noSums)[] {
  const sums: (typeof noSums)[] = []
  const add = (index: number, change: Partial<typeof noSums>) => {
    const sum = { ...noSums, ...sums[index] }
    for (const [name, gwei] of Object.entries(change)) sum[name as keyof typeof noSums] += gwei
    sums[index] = sum
  }
  for (const { earned, rewards } of epochs.slice(0, until)) {
    for (const [index, earnings] of earned.entries()) add(index, { earnings })
    for (const [index, parts] of rewards.entries()) {
      const total = (keep: (gwei: number) => boolean) => (parts ?? []).filter(keep).reduce((sum, gwei) => sum + gwei, 0)
      add(index, { voteRewards: total((gwei) => gwei > 0), votePenalties: total((gwei) => gwei < 0) })
    }
  }
  const slotsPerEpoch = 8
  for (const { slot, proposer, attestations, sync, slashing } of blocks) {
    if (slot < until * slotsPerEpoch) add(proposer, { blockRewards: attestations + sync + slashing })
  }
  return sums
}

interface NodeValidator {
  readonly validator: Readonly<Record<'pubkey' | 'withdrawal_credentials' | EpochField, string>>
}

type EpochField = 'activation_eligibility_epoch' | 'activation_epoch' | 'exit_epoch' | 'withdrawable_epoch'

const toEpoch = (epoch: string): number | null => (epoch === '18446744073709551615' ? null : Number(epoch))
const toAddress = (credentials: string): string | null =>
  credentials.startsWith('0x00') ? null : `0x${credentials.slice(-40)}`

test('the chains contain every operation', () => {
  const events = chains.map((chain) => truthOf(chain).events)
  for (const name of [
    ...['proposer slashings', 'attester slashings', 'voluntary exits', 'credentials changes', 'withdrawals'],
    ...['new validators', 'top-ups', 'invalid deposits', 'partial withdrawal requests', 'consolidation requests'],
    ...['queued excess balances', 'switches in a first slot'],
  ]) {
    const counts = events.map((all) => all[name] ?? 0)
    assert(Math.max(...counts) > 0, name)
  }
})
