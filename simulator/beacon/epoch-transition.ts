// The epoch transition of a simulated chain: finality, inactivity scores, vote rewards, penalties and queues. Implemented
// independently of the server (chain.ts).
import { eth, far, least, maxEffective, minActivation } from './amounts.ts'
import { atLeastOneEth, type ChainState } from './chain.ts'
import { processGloasQueues } from './gloas/epoch-end.ts'
import type { SimulatedValidator, VotePay } from './records.ts'
import type { Truth } from './truth.ts'

/** Queued deposits that are applied at the end of an epoch. */
const depositsPerEpoch = 3

/** The epoch transition. Returns the vote rewards. */
export function endEpoch(chain: ChainState, ended: number): ReadonlyMap<number, VotePay> {
  const slot = (ended + 1) * chain.plan.slotsPerEpoch
  justify(chain, ended)
  if (ended > 0) updateScores(chain, ended)
  const paid = ended > 0 ? payVotes(chain, ended, slot) : new Map<number, VotePay>()
  updateRegistry(chain, ended)
  punishSlashed(chain, ended, slot)
  processQueues(chain, ended)
  for (const validator of chain.validators) updateEffective(validator, chain.isFrom('electra', ended))
  chain.data.slashed[(ended + 1) % chain.constants.slashingsVector] = 0n
  for (const validator of chain.validators) {
    validator.previous = validator.current
    validator.current = 0
  }
  chain.clearStakes()
  return paid
}

/** Stake of the unslashed active validators with the flag. */
function stakeOf(chain: ChainState, epoch: number, which: 'previous' | 'current', bit: number): bigint {
  const withFlag = chain.active(epoch).filter((index) => !chain.at(index).slashed && chain.at(index)[which] & bit)
  return atLeastOneEth(withFlag.reduce((sum, index) => sum + chain.at(index).effective, 0n))
}

function justify(chain: ChainState, current: number): void {
  if (current <= 1) return
  const { data } = chain
  const total = chain.totalActive(current)
  const [oldPrevious, oldCurrent] = [data.previousJustified, data.justified]
  data.previousJustified = data.justified
  let [b0, b1, b2, b3] = [false, ...data.bits.slice(0, 3)] as [boolean, boolean, boolean, boolean]
  if (stakeOf(chain, current - 1, 'previous', 2) * 3n >= total * 2n) {
    data.justified = current - 1
    b1 = true
  }
  if (stakeOf(chain, current, 'current', 2) * 3n >= total * 2n) {
    data.justified = current
    b0 = true
  }
  data.bits = [b0, b1, b2, b3]
  if (b1 && b2 && b3 && oldPrevious + 3 === current) data.finalized = oldPrevious
  if (b1 && b2 && oldPrevious + 2 === current) data.finalized = oldPrevious
  if (b0 && b1 && b2 && oldCurrent + 2 === current) data.finalized = oldCurrent
  if (b0 && b1 && oldCurrent + 1 === current) data.finalized = oldCurrent
}

function isLeaking(chain: ChainState, ended: number): boolean {
  return ended - 1 - chain.data.finalized > chain.constants.leakAfterEpochs
}

/** Validators that get rewards or penalties for the votes of the previous epoch. */
function eligible(chain: ChainState, ended: number): number[] {
  return [...chain.validators.keys()].filter((index) => {
    const { slashed, withdrawable, activation, exit } = chain.at(index)
    return (activation <= ended - 1 && ended - 1 < exit) || (slashed && ended < withdrawable)
  })
}

function updateScores(chain: ChainState, ended: number): void {
  const leaks = isLeaking(chain, ended)
  for (const index of eligible(chain, ended)) {
    const validator = chain.at(index)
    const hasTarget = !validator.slashed && (validator.previous & 2) !== 0
    if (hasTarget) validator.score -= validator.score > 1n ? 1n : validator.score
    else validator.score += 4n
    if (!leaks) validator.score -= validator.score < 16n ? validator.score : 16n
  }
}

function payVotes(chain: ChainState, ended: number, slot: number): Map<number, VotePay> {
  const epoch = ended - 1
  const leaks = isLeaking(chain, ended)
  const increments = chain.totalActive(ended) / eth
  const quotient = chain.isFrom('bellatrix', ended) ? 16_777_216n : 50_331_648n
  const shares = [1, 2, 4].map((bit) => stakeOf(chain, epoch, 'previous', bit) / eth) as [bigint, bigint, bigint]
  const paid = new Map<number, VotePay>()
  const ideals = new Map<number, bigint>()
  for (const index of eligible(chain, ended)) {
    const validator = chain.at(index)
    const base = chain.baseReward(index, ended)
    const flags = validator.slashed ? 0 : validator.previous
    const ideal = (weight: bigint, share: bigint) => (leaks ? 0n : (base * weight * share) / (increments * 64n))
    const [source, target, head] = [ideal(14n, shares[0]), ideal(26n, shares[1]), ideal(14n, shares[2])]
    ideals.set(index, source + target + head)
    paid.set(index, {
      source: flags & 1 ? source : -((base * 14n) / 64n),
      target: flags & 2 ? target : -((base * 26n) / 64n),
      head: flags & 4 ? head : 0n,
      inactivity: flags & 2 ? 0n : -((validator.effective * validator.score) / (4n * quotient)),
    })
  }
  for (const [index, pay] of paid) {
    writePay(chain, epoch, index, pay, ideals.get(index) as bigint)
    for (const part of [pay.source, pay.target, pay.head, pay.inactivity]) chain.earn(index, part, slot)
  }
  return paid
}

function writePay(
  chain: ChainState,
  epoch: number,
  index: number,
  { source, target, head, inactivity }: VotePay,
  ideal: bigint,
): void {
  const row = chain.truth.row(epoch, index)
  const add = (name: Parameters<Truth['add']>[2], value: bigint) => chain.truth.add(epoch, index, name, value)
  const gain = (part: bigint) => (part > 0n ? part : 0n)
  const loss = (part: bigint) => (part < 0n ? part : 0n)
  if (inactivity < 0n) chain.truth.note('leak')
  add('attestation_reward', gain(source) + gain(target) + head)
  if (!row.included || chain.at(index).slashed) {
    add('missed_attestation_penalty', loss(source) + loss(target) + inactivity)
    if (row.assigned && !row.included) add('missed_attestation_reward', ideal)
  } else {
    add('late_source_penalty', loss(source))
    add(row.correct_target ? 'late_target_penalty' : 'wrong_target_penalty', loss(target) + inactivity)
  }
}

/** Halfway to its withdrawal, a slashed validator gets a penalty in proportion to all recent slashings. */
function punishSlashed(chain: ChainState, ended: number, slot: number): void {
  const total = chain.totalActive(ended)
  const sum =
    chain.data.slashed.reduce((total, gwei) => total + gwei, 0n) * (chain.isFrom('bellatrix', ended) ? 3n : 2n)
  const adjusted = least(sum, total)
  chain.validators.forEach((validator, index) => {
    if (!validator.slashed || ended + chain.constants.slashingsVector / 2 !== validator.withdrawable) return
    const increments = validator.effective / eth
    const penalty = chain.isFrom('electra', ended)
      ? (adjusted / (total / eth)) * increments
      : ((increments * adjusted) / total) * eth
    chain.penalizeSlashed(index, penalty, slot)
  })
}

function updateRegistry(chain: ChainState, ended: number): void {
  // Before Gloas, activations do not wait for finality, so that there are some within a few epochs.
  const eligibleUntil = chain.data.gloas ? chain.data.finalized : ended
  for (const validator of chain.validators) {
    if (validator.eligible === far && validator.effective >= minActivation) validator.eligible = ended + 1
    else if (validator.eligible <= eligibleUntil && validator.activation === far)
      validator.activation = ended + 1 + chain.constants.activationDelay
  }
}

function processQueues(chain: ChainState, ended: number): void {
  if (!chain.isFrom('electra', ended)) return
  if (chain.data.gloas) {
    processGloasQueues(chain, ended)
    return
  }
  const { queue, consolidations, finalized } = chain.data
  const { slotsPerEpoch } = chain.plan
  const candidates = queue.slice(0, depositsPerEpoch)
  const notFinal = candidates.findIndex(({ slot }) => slot > finalized * slotsPerEpoch)
  for (const deposit of queue.splice(0, notFinal < 0 ? candidates.length : notFinal)) {
    const { gwei, slot: _, ...identity } = deposit
    const known = chain.validators.find(({ pubkey }) => pubkey === identity.pubkey)
    // A deposit to an exiting validator waits until the validator can withdraw.
    if (known && known.exit !== far && known.withdrawable > ended) queue.push(deposit)
    else if (known) known.balance += gwei
    else chain.enter(identity, gwei, far)
  }
  // Requests of the ended epoch are applied at the end of the next one.
  const dueCount = consolidations.filter(({ epoch }) => epoch < ended).length
  for (const { from, to } of consolidations.splice(0, dueCount)) {
    const source = chain.at(from)
    const gwei = least(source.balance, source.effective)
    source.balance -= gwei
    chain.at(to).balance += gwei
  }
}

function updateEffective(validator: SimulatedValidator, isElectra: boolean): void {
  const { balance, effective } = validator
  const max = isElectra ? maxEffective(validator.credentials) : 32n * eth
  if (balance + eth / 4n >= effective && effective + (eth * 5n) / 4n >= balance) return
  validator.effective = least(balance - (balance % eth), max)
}
