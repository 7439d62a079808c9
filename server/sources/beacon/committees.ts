// The attestation committees of one epoch: which validator had to attest in which slot, and at which position of an
// aggregate's bits.
import { figureOf, InvalidResponseError, readFields, readList } from './json.ts'

export interface Committees {
  readonly firstSlot: number
  readonly perSlot: number
  /** Index: (slot within the epoch) · perSlot + committee. */
  readonly members: readonly Uint32Array[]
}

const fieldName = 'committees'

/** `/eth/v1/beacon/states/{state}/committees?epoch=…` */
export function committeesFromJson(data: unknown, firstSlot: number, slots: number): Committees {
  const list = readList(data, fieldName)
  const perSlot = list.length / slots
  if (!Number.isInteger(perSlot) || perSlot < 1)
    throw new InvalidResponseError(`${list.length} committees for ${slots} slots`)
  const members: (Uint32Array | undefined)[] = new Array(list.length).fill(undefined)
  for (const member of list) {
    const fields = readFields(member, fieldName)
    const at = (figureOf(fields.slot, 'slot') - firstSlot) * perSlot + figureOf(fields.index, 'index')
    if (!(at >= 0 && at < members.length) || members[at])
      throw new InvalidResponseError('a committee is outside the epoch, or listed twice')
    const validators = readList(fields.validators, 'validators')
    const committee = new Uint32Array(validators.length)
    for (let position = 0; position < committee.length; position++)
      committee[position] = figureOf(validators[position], 'validators')
    members[at] = committee
  }
  return { firstSlot, perSlot, members: complete(members) }
}

/** Rebuilds the committees from the duties of all validators (`POST /eth/v1/validator/duties/attester/{epoch}`). */
export function committeesFromDuties(data: unknown, firstSlot: number, slots: number): Committees {
  const duties = readList(data, 'duties').map((member) => readFields(member, 'duties'))
  const perSlot = figureOf(duties[0]?.committees_at_slot, 'committees_at_slot')
  if (perSlot < 1 || perSlot > 4096) throw new InvalidResponseError(`${perSlot} committees in a slot`)
  const members: (Uint32Array | undefined)[] = new Array(slots * perSlot).fill(undefined)
  let filled = 0
  for (const duty of duties) {
    const at = (figureOf(duty.slot, 'slot') - firstSlot) * perSlot + figureOf(duty.committee_index, 'committee_index')
    if (!(at >= 0 && at < members.length)) throw new InvalidResponseError('a duty is outside the epoch')
    members[at] ??= new Uint32Array(figureOf(duty.committee_length, 'committee_length')).fill(0xffffffff)
    const committee = members[at] as Uint32Array
    const position = figureOf(duty.validator_committee_index, 'validator_committee_index')
    if (!(position < committee.length) || committee[position] !== 0xffffffff)
      throw new InvalidResponseError('two duties have the same committee position')
    committee[position] = figureOf(duty.validator_index, 'validator_index')
    filled += 1
  }
  const committees = complete(members)
  if (filled !== committees.reduce((sum, committee) => sum + committee.length, 0))
    throw new InvalidResponseError('some committee members have no duty')
  return { firstSlot, perSlot, members: committees }
}

function complete(members: readonly (Uint32Array | undefined)[]): Uint32Array[] {
  if (members.some((committee) => !committee)) throw new InvalidResponseError('a committee is missing')
  return members as Uint32Array[]
}
