// Payload committees and their votes, against the truth of a recorded chain.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Block } from '#sources/beacon/block.ts'
import { blockFromSsz } from '#sources/beacon/block-ssz.ts'
import { type ConsensusRules, type Fork, firstSlotAt, readRules } from '#sources/beacon/consensus.ts'
import { payloadCommitteeOf } from '#sources/beacon/payload-state.ts'
import { View } from '#sources/beacon/ssz.ts'
import { stateFromSsz, type Validators } from '#sources/beacon/validators.ts'
import { exchangesOf } from '#test/beacon-replay.ts'
import { gloasRecording, gloasTruth } from '#test/gloas-recording.ts'
import { seatsOf } from '../epochs/payload-seats.ts'
import { findPayloadVotes, isWrongVote, type PayloadVote } from './payload-votes.ts'

/** The first epoch of Gloas, and the first one whose next epoch is not complete. */
const [first, until] = [4, 20]

describe('the payload committees of a recorded chain', () => {
  let rules: ConsensusRules
  let blocks: readonly Block[] = []
  const states = new Map<number, Validators>()
  const answers = new Map<string, (typeof exchanges)[number]>()
  let exchanges: ReturnType<typeof exchangesOf> = []
  const jsonAt = (path: string) => JSON.parse(answers.get(`${path} application/json`)?.body ?? '{}').data
  const sszAt = (path: string) => {
    const answer = answers.get(`${path} application/octet-stream`)
    return answer?.status === 200 ? { view: new View(Buffer.from(answer.body, 'base64')), answer } : undefined
  }

  before(() => {
    exchanges = ['exchanges', 'debug-states'].flatMap((name) => exchangesOf(`${gloasRecording}/${name}.ndjson`))
    for (const exchange of exchanges) answers.set(`${exchange.path} ${exchange.accept}`, exchange)
    rules = readRules(jsonAt('/eth/v1/config/spec'))
    blocks = Array.from({ length: 160 }, (_, at) => {
      const found = sszAt(`/eth/v2/beacon/blocks/${at + 1}`)
      return found && blockFromSsz(found.view, found.answer.headers['eth-consensus-version'] as Fork, rules)
    }).filter((block) => block !== undefined)
    for (let epoch = first - 1; epoch < until; epoch++) {
      const found = sszAt(`/eth/v2/debug/beacon/states/${firstSlotAt(rules, epoch)}`)
      if (found) states.set(epoch, stateFromSsz(found.view, rules).validators)
    }
  })

  const seatsIn = (epoch: number): Uint32Array => {
    const { payloads } = states.get(epoch) as Validators
    assert(payloads)
    const from = firstSlotAt(rules, epoch)
    return Uint32Array.from(
      Array.from({ length: rules.slotsPerEpoch }, (_, at) => [
        ...(payloadCommitteeOf(payloads, rules, epoch, from + at) ?? []),
      ]).flat(),
    )
  }

  test('the seats are those of the states', () => {
    for (let epoch = first; epoch < until; epoch++)
      assert.deepEqual(seatsOf(rules, states.get(epoch)?.payloads, 'now'), seatsIn(epoch), `epoch ${epoch}`)
    assert.equal(seatsOf(rules, states.get(first - 1)?.payloads, 'now'), undefined)
  })

  test('every duty, vote, and whether the vote could be on the chain', () => {
    let count = 0
    for (const { epoch, rows } of gloasTruth().epochs.filter((entry) => entry.epoch >= first && entry.epoch < until)) {
      const found = findPayloadVotes(rules, firstSlotAt(rules, epoch), seatsIn(epoch), blocks)
      const byValidator = new Map(found.map((duty) => [duty.validator, duty]))
      assert.equal(byValidator.size, found.length, 'one slot per validator and epoch')
      for (const { validator, ptc } of rows) {
        assert.deepEqual(byValidator.get(validator), ptc ? toDuty(validator, ptc) : undefined)
        const wrong = ptc?.matchesCanonical == null ? undefined : !ptc.matchesCanonical
        if (ptc) assert.equal(isWrongVote(byValidator.get(validator) as PayloadVote), wrong)
        count += ptc ? 1 : 0
      }
    }
    assert.equal(count, 870)
  })
})

type TruthDuty = NonNullable<ReturnType<typeof gloasTruth>['epochs'][number]['rows'][number]['ptc']>

const toDuty = (validator: number, duty: TruthDuty): PayloadVote => ({
  validator,
  slot: duty.slot,
  seats: duty.seats,
  canBeOnChain: duty.includable,
  vote: duty.included
    ? { isPresent: duty.payloadPresent === true, hasBlobs: duty.blobDataAvailable === true }
    : undefined,
  payload: duty.canonicalPayload ?? undefined,
})
