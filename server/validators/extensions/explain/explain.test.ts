// The extension endpoint validators.explain.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { ExplainedEpoch } from '#api/contract/wire/validators-explain.ts'
import type { Epoch } from '#core/chain-time.ts'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, settingsWith, type TestContext, testRequestInfo } from '#test/context.ts'
import { type CompletedNetwork, simulateNetwork } from '#test/simulator/simulate-network.ts'
import { callHandler, invalidInputs, perfect, pubkeyOf, register, writeEpochs } from '#test/validators-world.ts'
import {
  listMissedDuties,
  type MissedField,
  missedEpochs,
  missedFields,
  missedKinds,
  payloadFlags,
  writeMissedDuties,
} from '../../duties/missed.ts'
import { Follower } from '../../ingest/follow.ts'
import { withChainTimes } from '../../ingest/read/chain-identity.ts'
import { putValidators } from '../../registry/registry.ts'
import { explain } from './explain.ts'

const day = (number: number) => number * 225

/** After the epochs with missed duties. */
const gloasEpoch = day(2115) + 20

type MissedRow = Partial<Record<MissedField, number>>

/** Validator 5 over three days. The second has three epochs with missed duties, and those of `more`. */
async function openExplained(more: readonly MissedRow[] = []): Promise<TestContext> {
  const context = await openContext()
  await register(context, 'mainnet', [5, 9])
  const epochs = Array.from({ length: 3 * 225 }, (_, at) => day(2114) + at)
  const worse = new Map<number, object>([
    [day(2115), { inclusion_delay: 2, correct_head: 0 }],
    [
      day(2115) + 7,
      { included: 0, inclusions: 0, inclusion_delay: 0, correct_source: 0, correct_target: 0, correct_head: 0 },
    ],
    [day(2115) + 9, { proposer_duties: 1 }],
  ])
  await writeEpochs(
    context,
    'mainnet',
    { from: day(2114), until: day(2117) },
    epochs.map((epoch) => ({ ...perfect, epoch, validator: 5, ...worse.get(epoch) })),
  )
  const rows: MissedRow[] = [
    { epoch: day(2115), kind: 0, slot: 15_228_003, delay: 2, best_delay: 2, wrong: 2 },
    { epoch: day(2115) + 7, kind: 0, slot: 15_228_230, best_delay: 1 },
    { epoch: day(2115) + 9, kind: missedKinds.indexOf('noBlock'), slot: 15_228_300 },
    ...more,
  ]
  const columns = missedFields.map((field) => [
    field,
    Int32Array.from(rows, (row) => (field === 'validator' ? 5 : (row[field] ?? 0))),
  ])
  await context.dutiesState.write(async (tx) => {
    const { mainnet } = context.settings.validators.networks
    await tx.run("delete from coverage where stream = 'missed/mainnet'")
    await writeMissedDuties(tx, 'mainnet', mainnet, [
      { epochs: { from: day(2115) as Epoch, until: day(2117) as Epoch }, missed: Object.fromEntries(columns) },
    ])
  })
  return context
}

describe('200', () => {
  test('days have their sums, and the epochs with missed duties and their cause', async () => {
    await using context = await openExplained()
    const { body } = await callHandler(explain, context, { validator_index_or_pubkey: '5', fromDay: 2115, toDay: 2115 })
    assert.deepEqual([body.validatorIndex, body.pages, body.previous, body.next], [5, 1, null, null])
    const [explained] = body.results
    assert(explained && body.results.length === 1)
    assert.deepEqual(
      [explained.day, explained.date, explained.startEpoch, explained.endEpoch, explained.epochsKnown],
      [2115, '2026-09-16', day(2115), day(2116) - 1, true],
    )
    assert.deepEqual(
      [
        explained.totalAttestationAssignments,
        explained.sumMissedAttestations,
        explained.sumWrongHeadVotes,
        explained.proposedCount,
      ],
      [225, 1, 1, 0],
    )
    // 100 · 224 · (224 + 224 + 223) / (3 · 225 · 225)
    assert.equal(explained.attesterEffectiveness, Number(((100 * 224 * 671) / (3 * 225 * 225)).toFixed(10)))
    const nothing = { final: true, missedBlocks: [], emptyBlocks: [], missedSyncSignatures: 0, slashedSlot: null }
    const expected: ExplainedEpoch[] = [
      {
        ...nothing,
        epoch: day(2115),
        startTimestamp: '2026-09-16T12:00:23.000Z',
        vote: {
          slot: 15_228_003,
          included: true,
          delay: 2,
          bestDelay: 2,
          nextBlockMissing: true,
          targetCorrect: true,
          headCorrect: false,
        },
        messages: [
          'the vote of slot 15228003 has a wrong head',
          'the vote of slot 15228003 was included after 2 slots; there was no earlier block',
        ],
      },
      {
        ...nothing,
        epoch: day(2115) + 7,
        startTimestamp: '2026-09-16T12:45:11.000Z',
        vote: {
          slot: 15_228_230,
          included: false,
          delay: null,
          bestDelay: 1,
          nextBlockMissing: false,
          targetCorrect: null,
          headCorrect: null,
        },
        messages: ['the vote of slot 15228230 is missing'],
      },
      {
        ...nothing,
        epoch: day(2115) + 9,
        startTimestamp: '2026-09-16T12:57:59.000Z',
        missedBlocks: [15_228_300],
        messages: ['it proposed no block in slot 15228300'],
      },
    ]
    assert.deepEqual(explained.epochs, expected)
  })

  test('since Gloas, a day has its proposals: who built the payload, whether it was delivered and paid', async () => {
    const { full, empty, paid, unpaid } = payloadFlags
    const proposal = (at: number, more: MissedRow): MissedRow => {
      const epoch = gloasEpoch + at
      return { epoch, kind: missedKinds.indexOf('proposal'), slot: epoch * 32 + 1, ...more }
    }
    const rows = [
      proposal(0, { payload: full }),
      proposal(1, { payload: full | paid, builder: 4, ether: 3, gwei: 50 }),
      proposal(2, { payload: empty | paid, builder: 1, gwei: 70_000_000 }),
      proposal(3, { payload: empty | unpaid, builder: 1, gwei: 70_000_000 }),
      proposal(4, { payload: empty }),
      { ...proposal(4, {}), kind: missedKinds.indexOf('emptyBlock') },
      proposal(5, { builder: 1, gwei: 7 }),
    ]
    await using context = await openExplained(rows)
    const { body } = await callHandler(explain, context, { validator_index_or_pubkey: '5', fromDay: 2114 })
    const [before, explained] = body.results
    assert.equal(before?.proposals, undefined)
    const slot = (at: number) => (gloasEpoch + at) * 32 + 1
    assert.deepEqual(explained?.proposals, [
      { slot: slot(0), payload: 'full', builder: null, valueGwei: 0, paid: null },
      { slot: slot(1), payload: 'full', builder: 3, valueGwei: 3_000_000_050, paid: true },
      { slot: slot(2), payload: 'empty', builder: 0, valueGwei: 70_000_000, paid: true },
      { slot: slot(3), payload: 'empty', builder: 0, valueGwei: 70_000_000, paid: false },
      { slot: slot(4), payload: 'empty', builder: null, valueGwei: 0, paid: null },
      { slot: slot(5), payload: 'unknown', builder: 0, valueGwei: 7, paid: null },
    ])
    const withheld = (at: number, payment: string) =>
      `builder 0 did not deliver the payload of its block in slot ${slot(at)} in time, which is not its fault; it ${payment}`
    assert.deepEqual(
      explained.epochs
        .slice(3)
        .map(({ emptyBlocks, withheldPayloads, messages }) => [emptyBlocks, withheldPayloads, messages]),
      [
        [[], [slot(2)], [withheld(2, 'still pays 70000000 gwei')]],
        [[], [slot(3)], [withheld(3, 'does not pay the 70000000 gwei of its bid')]],
        [
          [slot(4)],
          undefined,
          [`the payload that it built for its block in slot ${slot(4)} did not become part of the chain`],
        ],
      ],
    )
  })

  test('a vote in a payload committee says whether it could be on the chain, and that it pays nothing', async () => {
    const { full, empty, seen, blobsSeen } = payloadFlags
    const vote = (at: number, more: MissedRow): MissedRow => {
      const epoch = gloasEpoch + at
      return { epoch, kind: missedKinds.indexOf('payloadVote'), slot: epoch * 32 + 1, ...more }
    }
    const rows = [
      vote(0, { payload: full, best_delay: 1 }),
      vote(1, { payload: full }),
      vote(2, {}),
      vote(3, { payload: empty | seen | blobsSeen, best_delay: 1, delay: 1 }),
      vote(4, { payload: full, best_delay: 1, delay: 1 }),
    ]
    await using context = await openExplained(rows)
    const { body } = await callHandler(explain, context, { validator_index_or_pubkey: '5', fromDay: 2115 })
    const name = (at: number) => `its vote in the payload committee of slot ${(gloasEpoch + at) * 32 + 1}`
    const nothing = { payloadSeen: null, blobsSeen: null }
    const notOnChain = { onChain: false, couldBeOnChain: false, ...nothing }
    const expected = [
      [
        { onChain: false, couldBeOnChain: true, ...nothing, payload: 'full' },
        `${name(0)} is not on the chain: it was not cast, or the next proposer left it out`,
      ],
      [
        { ...notOnChain, payload: 'full' },
        `${name(1)} is not on the chain: it could not be, because this slot or the next one has no block`,
      ],
      [
        { ...notOnChain, payload: 'unknown' },
        `${name(2)} is not on the chain: it could not be, because this slot or the next one has no block`,
      ],
      [
        { onChain: true, couldBeOnChain: true, payloadSeen: true, blobsSeen: true, payload: 'empty' },
        `${name(3)} says that the payload was there, but the chain decided otherwise`,
      ],
      [
        { onChain: true, couldBeOnChain: true, payloadSeen: false, blobsSeen: false, payload: 'full' },
        `${name(4)} says that the payload was not there, but the chain decided otherwise`,
      ],
    ] as const
    assert.deepEqual(
      body.results[0]?.epochs.slice(3).map(({ payloadVote, messages }) => [payloadVote, messages]),
      expected.map(([payloadVote, message], at) => [
        { slot: (gloasEpoch + at) * 32 + 1, ...payloadVote },
        [message, 'votes of payload committees are neither rewarded nor penalized'],
      ]),
    )
  })

  test('pages have whole days; key, dates and UTC days select the same days', async () => {
    await using context = await openExplained()
    const first = await callHandler(explain, context, { validator_index_or_pubkey: pubkeyOf(5), limit: 2 })
    assert.deepEqual(
      first.body.results.map(({ day: number, epochs }) => [number, epochs.length]),
      [
        [2114, 0],
        [2115, 3],
      ],
    )
    assert.equal(first.body.pages, 2)
    assert.match(first.body.next ?? '', /^http:\/\/127\.0\.0\.1:8080\/v1\/.*\/explain\?limit=2&offset=2$/)
    const second = await callHandler(explain, context, { validator_index_or_pubkey: '5', limit: 2, offset: 2 })
    assert.deepEqual([second.body.results.length, second.body.next], [1, null])
    const utc = await callHandler(explain, context, {
      validator_index_or_pubkey: '5',
      utc: true,
      fromDate: '2026-09-16',
    })
    assert.deepEqual(
      utc.body.results.map(({ date, epochs }) => [date, epochs.length]),
      [
        ['2026-09-16', 3],
        ['2026-09-17', 0],
        ['2026-09-18', 0],
      ],
    )
  })

  test('a day without stored missed duties is marked, and its coverage is incomplete', async () => {
    await using context = await openExplained()
    const { body, confidence } = await callHandler(explain, context, { validator_index_or_pubkey: '5' })
    assert.deepEqual(
      body.results.map(({ epochsKnown }) => epochsKnown),
      [false, true, true],
    )
    assert.equal(confidence?.coverage, `${day(2115)}-${day(2117) - 1}`)
    assert.equal(confidence?.asOf, day(2117) - 1)
  })

  test('a validator without duties has no days', async () => {
    await using context = await openExplained()
    const { body } = await callHandler(explain, context, { validator_index_or_pubkey: '9' })
    assert.deepEqual([body.results, body.pages], [[], 0])
  })
})

describe('400', () => {
  test('from after to is refused', async () => {
    await using context = await openExplained()
    const wrong = callHandler(explain, context, { validator_index_or_pubkey: '5', fromDay: 3, toDay: 2 })
    assert.deepEqual(await invalidInputs(wrong), ['query.fromDay'])
  })
})

describe('404', () => {
  test('an unknown validator is not found', async () => {
    await using context = await openExplained()
    const query = { network: 'mainnet', validator_index_or_pubkey: '6', limit: 10, offset: 0, utc: false } as const
    assert.equal((await explain.handle(query, context, testRequestInfo())).is, 'nothing')
  })
})

/** Reference: the missed duties of the simulated network, computed without code of the server. */
function truthOf(
  world: CompletedNetwork,
  validator: number,
  epoch: number,
): Omit<ExplainedEpoch, 'messages' | 'startTimestamp'> {
  const { slotsPerEpoch, committeesPerSlot } = world.plan
  const record = world.epochs[epoch]
  assert(record)
  const first = epoch * slotsPerEpoch
  const slots = Array.from({ length: slotsPerEpoch }, (_, at) => first + at)
  const seat = record.committees.findIndex((members) => members.includes(validator))
  const slot = first + Math.floor(seat / committeesPerSlot)
  const row = world.truth.rows(epoch).get(validator) ?? {}
  const wait = Array.from({ length: 2 * slotsPerEpoch }, (_, at) => at + 1).find((slots) =>
    world.blocks.has(slot + slots),
  )
  const isIn = row.included === 1
  const isFine = isIn && row.inclusion_delay === 1 && row.correct_target === 1 && row.correct_head === 1
  const vote = {
    slot,
    included: isIn,
    delay: isIn ? (row.inclusion_delay ?? 0) : null,
    bestDelay: wait ?? null,
    nextBlockMissing: !world.blocks.has(slot + 1),
    targetCorrect: isIn ? row.correct_target === 1 : null,
    headCorrect: isIn ? row.correct_head === 1 : null,
  }
  const duties = slots.filter((at) => at > 0 && record.proposers[at - first] === validator)
  const blocks = slots.flatMap((at) => world.blocks.get(at) ?? [])
  const isEmpty = (at: number) => {
    const block = world.blocks.get(at)
    return block !== undefined && block.fork !== 'altair' && block.payload.transactions.length === 0
  }
  return {
    epoch,
    final: true,
    ...(row.assigned === 1 && !isFine && { vote }),
    missedBlocks: duties.filter((at) => !world.blocks.has(at)),
    emptyBlocks: duties.filter(isEmpty),
    missedSyncSignatures: blocks.reduce(
      (sum, block) =>
        sum + record.sync.filter((member, index) => member === validator && !block.syncBits[index]).length,
      0,
    ),
    slashedSlot: row.slashes_received ? -1 : null,
  }
}

test('every missed duty of every validator of a simulated network is reported, and nothing else', async () => {
  const seen = { missed: 0, excused: 0, blocks: 0, sync: 0, slashed: 0 }
  for (const seed of ['explain/1', 'explain/2', 'explain/5']) {
    const world = simulateNetwork(seed, { missed: 0.2, orphaned: 0.05, slashing: 0.05 })
    await using node = await openNodeOfRun(world, { finalized: () => world.finalized })
    const hoodi = { epochsPerHour: 3, epochsPerDay: 6, beacon: { urls: [node.url], fromEpoch: 0 } }
    await using empty = await openContext({ validators: { networks: { hoodi: hoodi } } })
    const settings = await withChainTimes({ ...empty, clock: systemClock })
    const context = Object.assign(empty, { settings })
    const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 5000, clock: systemClock })
    await new Follower(context, 'hoodi', beacon).catchUp(new AbortController().signal)
    for (let validator = 0; validator < world.plan.validators; validator++) {
      const { body } = await callHandler(explain, context, {
        network: 'hoodi',
        validator_index_or_pubkey: String(validator),
        limit: 100,
      })
      const reported = new Map(
        body.results.flatMap(({ epochs }) => epochs.map((epoch) => [epoch.epoch, epoch] as const)),
      )
      for (let epoch = 0; epoch < world.finalized - 1; epoch++) {
        const truth = truthOf(world, validator, epoch)
        const {
          messages,
          startTimestamp: _,
          ...found
        } = reported.get(epoch) ?? { ...truth, messages: [], startTimestamp: '' }
        const where = `${seed}: validator ${validator}, epoch ${epoch}`
        const slashedSlot = found.slashedSlot === null ? null : -1
        assert.deepEqual({ ...found, slashedSlot }, truth, where)
        const isWrong =
          truth.vote !== undefined ||
          truth.missedBlocks.length + truth.emptyBlocks.length + truth.missedSyncSignatures > 0 ||
          truth.slashedSlot !== null
        assert.equal(reported.has(epoch), isWrong, where)
        assert.equal(messages.length > 0, isWrong, where)
        seen.missed += isWrong ? 1 : 0
        seen.excused += truth.vote?.nextBlockMissing && truth.vote.delay === truth.vote.bestDelay ? 1 : 0
        seen.blocks += truth.missedBlocks.length
        seen.sync += truth.missedSyncSignatures
        seen.slashed += truth.slashedSlot === null ? 0 : 1
      }
      assert(body.results.every(({ epochsKnown }) => epochsKnown))
    }
  }
  for (const [what, times] of Object.entries(seen)) assert(times > 0, `no ${what} was acted out`)
})

test('missed duties of old days are deleted, and their coverage with them', async () => {
  const world = simulateNetwork('explain/1')
  await using node = await openNodeOfRun(world, { finalized: () => world.finalized })
  const configured = {
    epochsPerHour: 1,
    epochsPerDay: 2,
    missedKeptDays: 1,
    beacon: { urls: [node.url], fromEpoch: 0 },
  }
  await using context = await openContext()
  const settings = await withChainTimes({
    ...context,
    settings: settingsWith({ validators: { networks: { hoodi: configured } } }),
    clock: systemClock,
  })
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 5000, clock: systemClock })
  await new Follower({ ...context, settings }, 'hoodi', beacon).catchUp(new AbortController().signal)
  const until = world.finalized - 1
  const lastDay = Math.floor((until - 1) / 2)
  const { hoodi } = settings.validators.networks
  const missedOf = (validator: number) =>
    listMissedDuties(context.dutiesState, {
      network: 'hoodi',
      time: hoodi,
      validators: [validator],
      epochs: { from: 0, until: world.finalized },
    })
  const kept = (await Promise.all(Array.from({ length: 64 }, (_, validator) => missedOf(validator)))).flat()
  assert(kept.length > 0)
  assert(kept.every(({ epoch }) => epoch >= lastDay * 2))
  assert.deepEqual(await missedEpochs(context.duties, 'hoodi'), [{ from: lastDay * 2, until }])
})

test('keys and indices select the same validator, separately for each network', async () => {
  await using context = await openContext()
  const entry = { activationEligibilityEpoch: 0, activationEpoch: 1, exitEpoch: null, withdrawableEpoch: null }
  await putValidators(context.ingest, 'hoodi', [{ ...entry, index: 1, pubkey: pubkeyOf(7), withdrawalAddress: null }])
  const { body, confidence } = await callHandler(explain, context, {
    network: 'hoodi',
    validator_index_or_pubkey: pubkeyOf(7),
  })
  assert.deepEqual([body.validatorIndex, body.results, confidence?.coverage], [1, [], 'none'])
})
