// A random chain that Lodestar computes: validators of every kind, and blocks with every operation.
import { createHash } from 'node:crypto'

const eth = 1_000_000_000
const genesisTime = 1_790_000_000
const { POSITIVE_INFINITY: never } = Number

/** Epochs from `from` up to `until` in which half of the stake is offline. */
const isOutage = ({ outage }, epoch) => outage !== undefined && epoch >= outage.from && epoch < outage.until

export function createChain(lodestar, scenario, draws) {
  const { config: configs, params, types, transition } = lodestar
  const { ssz } = types
  const far = { electra: never, fulu: never, ...scenario.forks }
  const chainConfig = {
    ...configs.chainConfig,
    ...{ ALTAIR_FORK_EPOCH: 0, BELLATRIX_FORK_EPOCH: 0, CAPELLA_FORK_EPOCH: 0, DENEB_FORK_EPOCH: 0 },
    ...{ ELECTRA_FORK_EPOCH: far.electra, FULU_FORK_EPOCH: far.fulu },
    // Small, so that exits, consolidations and withdrawals are completed within a few epochs.
    ...{ SHARD_COMMITTEE_PERIOD: 0, MIN_VALIDATOR_WITHDRAWABILITY_DELAY: 2 },
    ...{ MIN_PER_EPOCH_CHURN_LIMIT_ELECTRA: 200 * eth, MAX_PER_EPOCH_ACTIVATION_EXIT_CHURN_LIMIT: 400 * eth },
    CHURN_LIMIT_QUOTIENT: 8,
    ...scenario.config,
  }
  const keys = createKeys(transition)
  const genesis = createGenesis(lodestar, scenario, draws, keys)
  const genesisRoot = ssz.phase0.Validators.hashTreeRoot(genesis.validators.getAllReadonlyValues())
  genesis.genesisValidatorsRoot = genesisRoot
  genesis.commit()
  const pubkeyCache = transition.createPubkeyCache()
  const cached = (view, changes = {}) =>
    transition.createCachedBeaconState(view, {
      config: configs.createBeaconConfig({ ...chainConfig, ...changes }, genesisRoot),
      pubkeyCache,
    })
  const chain = {
    ...{ lodestar, scenario, draws, keys, chainConfig, cached, genesisTime, slotsPerEpoch: params.SLOTS_PER_EPOCH },
    state: cached(genesis),
    pool: [],
    /** How often each operation had an effect. */
    events: {},
    depositIndex: genesis.validators.length,
    newKeys: genesis.validators.length,
  }
  return chain
}

export const note = (chain, event, count = 1) => {
  chain.events[event] = (chain.events[event] ?? 0) + count
}

function createKeys({ interopSecretKey }) {
  const known = new Map()
  return (index) => {
    if (!known.has(index)) {
      const secret = interopSecretKey(index)
      known.set(index, { secret, pubkey: secret.toPublicKey().toBytes() })
    }
    return known.get(index)
  }
}

const bytes = (draws, length) => new Uint8Array(Buffer.from(draws.hex(2 * length), 'hex'))

function credentialsOf(prefix, pubkey, draws) {
  if (prefix === 0) {
    const digest = new Uint8Array(createHash('sha256').update(pubkey).digest())
    digest[0] = 0
    return digest
  }
  const credentials = new Uint8Array(32)
  credentials[0] = prefix
  credentials.set(bytes(draws, 20), 12)
  return credentials
}

/** Effective balance in ETH, and the epochs of a validator of this kind. */
function drawValidator(kind, draws, isElectra) {
  const active = { activationEligibilityEpoch: 0, activationEpoch: 0, exitEpoch: never, withdrawableEpoch: never }
  const compounding = () =>
    isElectra ? draws.pick([32, 33, draws.whole(34, 400), draws.whole(34, 400), draws.whole(400, 2048), 2048]) : 32
  switch (kind) {
    case 'bls':
      return { ...active, prefix: 0, eth: 32 }
    case 'compounding':
      return { ...active, prefix: 2, eth: compounding() }
    case 'low':
      return { ...active, prefix: draws.pick([0, 1, 2]), eth: draws.whole(17, 32) }
    case 'slashed': {
      // Its second penalty is due when half of the 64 epochs until it can withdraw are over.
      const withdrawableEpoch = 32 + draws.whole(2, 14)
      const prefix = draws.pick([1, 2])
      const increments = isElectra && prefix === 2 ? draws.pick([32, 96]) : 32
      return { ...active, prefix, eth: increments, slashed: true, exitEpoch: draws.whole(1, 6), withdrawableEpoch }
    }
    case 'exiting': {
      const exitEpoch = draws.whole(2, 9)
      return { ...active, prefix: draws.pick([0, 1, 2]), eth: 32, exitEpoch, withdrawableEpoch: exitEpoch + 2 }
    }
    case 'exited':
      return { ...active, prefix: draws.pick([1, 2]), eth: 32, exitEpoch: 0, withdrawableEpoch: draws.whole(0, 4) }
    case 'waiting':
      return { ...active, prefix: 1, eth: 32, activationEligibilityEpoch: never, activationEpoch: never }
    default:
      return { ...active, prefix: 1, eth: 32 }
  }
}

function createGenesis({ params, types, transition }, { validators: count, forks, changes = [] }, draws, keys) {
  const { ssz } = types
  const isElectra = forks.electra === 0
  const state = ssz[isElectra ? 'electra' : 'deneb'].BeaconState.defaultViewDU()
  const kinds = [
    ...['plain', 'plain', 'plain', 'plain', 'bls', 'bls', 'compounding', 'compounding', 'compounding'],
    ...['low', 'exiting', 'exited', 'slashed', 'waiting'],
  ]
  const validators = []
  const balances = []
  for (let index = 0; index < count; index++) {
    const {
      prefix,
      eth: increments,
      slashed = false,
      ...epochs
    } = drawValidator(kinds[index % kinds.length], draws, isElectra)
    const { pubkey } = keys(index)
    const effectiveBalance = increments * eth
    validators.push({
      pubkey,
      withdrawalCredentials: credentialsOf(prefix, pubkey, draws),
      effectiveBalance,
      slashed,
      ...epochs,
    })
    // Inside and outside the band in which the effective balance does not change.
    const offset = draws.pick([0, draws.whole(0, eth), draws.whole(0, 2 * eth), 0 - draws.whole(0, eth)])
    balances.push(effectiveBalance + offset)
  }
  for (const { index, ...fields } of changes) {
    const { prefix, effectiveBalance, balance } = fields
    Object.assign(validators[index], {
      effectiveBalance,
      withdrawalCredentials: credentialsOf(prefix, keys(index).pubkey, draws),
    })
    balances[index] = balance
  }
  state.genesisTime = genesisTime
  state.fork = ssz.phase0.Fork.toViewDU(ssz.phase0.Fork.defaultValue())
  state.validators = ssz.phase0.Validators.toViewDU(validators)
  state.balances = ssz.phase0.Balances.toViewDU(balances)
  state.previousEpochParticipation = ssz.altair.EpochParticipation.toViewDU(validators.map(() => 0))
  state.currentEpochParticipation = ssz.altair.EpochParticipation.toViewDU(validators.map(() => 0))
  state.inactivityScores = ssz.altair.InactivityScores.toViewDU(validators.map(() => 0))
  state.slashings.set(params.EPOCHS_PER_SLASHINGS_VECTOR - 1, isElectra ? 400 * eth : 100 * eth)
  for (let at = 0; at < params.EPOCHS_PER_HISTORICAL_VECTOR; at++) state.randaoMixes.set(at, bytes(draws, 32))
  state.eth1Data = ssz.phase0.Eth1Data.toViewDU({
    depositRoot: new Uint8Array(32),
    depositCount: count,
    blockHash: bytes(draws, 32),
  })
  state.eth1DepositIndex = count
  state.latestBlockHeader = ssz.phase0.BeaconBlockHeader.toViewDU({
    ...ssz.phase0.BeaconBlockHeader.defaultValue(),
    bodyRoot: bytes(draws, 32),
  })
  const header = ssz.deneb.ExecutionPayloadHeader.defaultValue()
  state.latestExecutionPayloadHeader = ssz.deneb.ExecutionPayloadHeader.toViewDU({
    ...header,
    blockHash: bytes(draws, 32),
  })
  if (isElectra) state.depositRequestsStartIndex = BigInt(count)
  const active = validators.flatMap(({ activationEpoch, exitEpoch }, index) =>
    activationEpoch <= 0 && exitEpoch > 0 ? [index] : [],
  )
  const increments = Uint16Array.from(validators, ({ effectiveBalance }) => effectiveBalance / eth)
  const fork = params.ForkSeq[isElectra ? 'electra' : 'deneb']
  const { syncCommittee } = transition.getNextSyncCommittee(fork, state, Uint32Array.from(active), increments)
  state.currentSyncCommittee = ssz.altair.SyncCommittee.toViewDU(syncCommittee)
  state.nextSyncCommittee = ssz.altair.SyncCommittee.toViewDU(syncCommittee)
  return state
}

/** Draws the block of the slot that `state` is at. Undefined: the slot stays empty. */
export function drawBlock(chain, state) {
  const { lodestar, draws, scenario } = chain
  const { params, types, transition } = lodestar
  const { ssz } = types
  const { slot, epochCtx, config } = state
  const proposerIndex = epochCtx.getBeaconProposer(slot)
  const isScripted = scenario.switches?.slot === slot
  if ((!isScripted && draws.happens(scenario.missed)) || state.validators.getReadonly(proposerIndex).slashed)
    return undefined
  const forkName = config.getForkName(slot)
  const fork = config.getForkSeq(slot)
  const isElectra = fork >= params.ForkSeq.electra
  const block = ssz[forkName].BeaconBlock.defaultValue()
  const { body } = block
  block.slot = slot
  block.proposerIndex = proposerIndex
  block.parentRoot = ssz.phase0.BeaconBlockHeader.hashTreeRoot(state.latestBlockHeader.toValue())
  body.randaoReveal = bytes(draws, 96)
  body.eth1Data = state.eth1Data.toValue()
  body.graffiti = new Uint8Array(32)
  const signed = draws.pick([0, 0.5, 0.9, 0.9, 1, 1])
  for (let seat = 0; seat < params.SYNC_COMMITTEE_SIZE; seat++)
    body.syncAggregate.syncCommitteeBits.set(seat, draws.happens(signed))
  const { executionPayload: payload } = body
  payload.parentHash = state.latestExecutionPayloadHeader.blockHash
  payload.blockHash = bytes(draws, 32)
  payload.prevRandao = transition.getRandaoMix(state, epochCtx.epoch)
  payload.blockNumber = slot
  payload.timestamp = transition.computeTimeAtSlot(config, slot, genesisTime)
  payload.transactions = Array.from({ length: draws.whole(0, 3) }, () => bytes(draws, 4))
  payload.withdrawals = transition.getExpectedWithdrawals(fork, state).expectedWithdrawals
  note(chain, 'withdrawals', payload.withdrawals.length)
  body.attestations = drawAttestations(chain, state, isElectra)
  // Slashings and exits come first, so later operations must be valid after them.
  const busy = new Set([proposerIndex])
  drawSlashings(chain, state, body, busy)
  drawExits(chain, state, body, busy, fork)
  drawCredentialsChanges(chain, state, body)
  if (isElectra) drawRequests(chain, state, body)
  return { block, forkName }
}

/** Random members of a slot's committees, with the kind of their vote and the slots after which it is included. */
export function drawVotes(chain, state) {
  const { draws, scenario } = chain
  const { slot, epochCtx } = state
  const committees = epochCtx.getBeaconCommittees(slot, indicesBelow(epochCtx.getCommitteeCountPerSlot(epochCtx.epoch)))
  const outage = isOutage(scenario, epochCtx.epoch)
  committees.forEach((members, committee) => {
    members.forEach((validator, seat) => {
      // During an outage, the same validators are always offline.
      if (outage ? validator % 2 === 1 : draws.happens(scenario.absent)) return
      const kind = draws.happens(0.9) ? 'right' : draws.pick(['head', 'head', 'target'])
      const delay = draws.happens(0.8) ? 1 : draws.whole(2, 12)
      chain.pool.push({ slot, committee, seat, kind, at: slot + delay })
      // Some votes are included again, and some validators vote twice.
      if (draws.happens(0.2)) chain.pool.push({ slot, committee, seat, kind, at: slot + delay + draws.whole(1, 4) })
      if (draws.happens(0.05))
        chain.pool.push({
          slot,
          committee,
          seat,
          kind: draws.pick(['right', 'head', 'target']),
          at: slot + draws.whole(1, 9),
        })
    })
  })
}

const indicesBelow = (count) => Array.from({ length: count }, (_, index) => index)

function drawAttestations(chain, state, isElectra) {
  const { lodestar, draws, slotsPerEpoch } = chain
  const { params, transition, BitArray } = lodestar
  const { slot, epochCtx } = state
  const { epoch } = epochCtx
  const epochOf = (at) => Math.floor(at / slotsPerEpoch)
  chain.pool = chain.pool.filter((vote) => epochOf(vote.slot) >= epoch - 1)
  const due = chain.pool.filter((vote) => vote.at <= slot && vote.slot < slot)
  const keyOf = ({ slot: at, kind, committee }) => `${at} ${kind}${isElectra ? '' : ` ${committee}`}`
  // Recent votes first: most of them must be included in time.
  const groups = [...Map.groupBy(due, keyOf).values()].sort((a, b) => b[0].slot - a[0].slot || b.length - a.length)
  const max = isElectra ? params.MAX_ATTESTATIONS_ELECTRA : 24
  const attestations = []
  for (const votes of groups.slice(0, max)) {
    const [{ slot: at, kind }] = votes
    const target = epochOf(at)
    const checkpoint = target === epoch ? state.currentJustifiedCheckpoint : state.previousJustifiedCheckpoint
    const isTargetRight = kind !== 'target'
    const data = {
      ...{ slot: at, index: isElectra ? 0 : votes[0].committee, source: checkpoint.toValue() },
      beaconBlockRoot: kind === 'right' ? transition.getBlockRootAtSlot(state, at) : new Uint8Array(32).fill(at),
      target: {
        epoch: target,
        root: isTargetRight ? transition.getBlockRoot(state, target) : new Uint8Array(32).fill(7),
      },
    }
    const committees = epochCtx.getBeaconCommittees(at, indicesBelow(epochCtx.getCommitteeCountPerSlot(target)))
    const chosen = [...new Set(votes.map(({ committee }) => committee))].sort((a, b) => a - b)
    const bits = chosen.flatMap((committee) =>
      Array.from(committees[committee], (_, seat) =>
        votes.some((vote) => vote.committee === committee && vote.seat === seat),
      ),
    )
    attestations.push({
      ...{ aggregationBits: BitArray.fromBoolArray(bits), data, signature: new Uint8Array(96) },
      ...(isElectra && {
        committeeBits: BitArray.fromBoolArray(
          indicesBelow(params.MAX_COMMITTEES_PER_SLOT).map((at) => chosen.includes(at)),
        ),
      }),
    })
    for (const vote of votes) vote.at = never
  }
  return draws.shuffled(attestations)
}

const pickValidator = ({ draws }, state) => draws.whole(0, state.validators.length)

function drawSlashings(chain, state, body, busy) {
  const { lodestar, draws, scenario } = chain
  const { transition, types } = lodestar
  const { epoch } = state.epochCtx
  // Without the largest ones: their votes are needed for finality.
  const isSlashable = (index) => {
    const validator = state.validators.getReadonly(index)
    return transition.isSlashableValidator(validator, epoch) && validator.effectiveBalance < 500 * eth
  }
  if (draws.happens(scenario.slashing)) {
    const index = pickValidator(chain, state)
    if (isSlashable(index) && !busy.has(index)) {
      busy.add(index)
      const header = (fill) => ({
        signature: new Uint8Array(96),
        message: {
          ...types.ssz.phase0.BeaconBlockHeader.defaultValue(),
          slot: state.slot,
          proposerIndex: index,
          bodyRoot: new Uint8Array(32).fill(fill),
        },
      })
      // The bigint variant of the header is the one in blocks.
      const [signedHeader1, signedHeader2] = [header(1), header(2)].map(({ message, signature }) => ({
        signature,
        message: { ...message, slot: BigInt(message.slot) },
      }))
      body.proposerSlashings = [{ signedHeader1, signedHeader2 }]
      note(chain, 'proposer slashings')
    }
  }
  if (!draws.happens(scenario.slashing)) return
  // Some of them are already slashed, and some are only in one of the two attestations.
  const some = [...new Set(indicesBelow(draws.whole(2, 5)).map(() => pickValidator(chain, state)))].sort(
    (a, b) => a - b,
  )
  const isLarge = (index) => state.validators.getReadonly(index).effectiveBalance >= 500 * eth
  const both = some.filter((index) => !busy.has(index) && !isLarge(index))
  const effective = both.filter(isSlashable)
  if (effective.length === 0) return
  const attestation = (fill, attestingIndices) => ({
    attestingIndices,
    signature: new Uint8Array(96),
    data: {
      ...{ slot: BigInt(state.slot), index: 0n, beaconBlockRoot: new Uint8Array(32).fill(fill) },
      ...{
        source: { epoch: 0n, root: new Uint8Array(32) },
        target: { epoch: BigInt(epoch), root: new Uint8Array(32) },
      },
    },
  })
  const others = indicesBelow(state.validators.length).filter((index) => !both.includes(index))
  const extended = [...both, draws.pick(others)].sort((a, b) => a - b)
  body.attesterSlashings = [{ attestation1: attestation(1, both), attestation2: attestation(2, extended) }]
  for (const index of effective) busy.add(index)
  note(chain, 'attester slashings', effective.length)
}

function drawExits(chain, state, body, busy, fork) {
  const { lodestar, draws, scenario } = chain
  const { transition } = lodestar
  if (!draws.happens(scenario.exits)) return
  const index = pickValidator(chain, state)
  const exit = { message: { epoch: state.epochCtx.epoch, validatorIndex: index }, signature: new Uint8Array(96) }
  if (busy.has(index) || !transition.isValidVoluntaryExit(fork, state, exit, false)) return
  busy.add(index)
  body.voluntaryExits = [exit]
  note(chain, 'voluntary exits')
}

function drawCredentialsChanges(chain, state, body) {
  const { lodestar, draws, scenario, keys } = chain
  const { transition } = lodestar
  if (!draws.happens(scenario.exits)) return
  const index = pickValidator(chain, state)
  const { withdrawalCredentials } = state.validators.getReadonly(index)
  if (withdrawalCredentials[0] !== 0) return
  const { secret, pubkey } = keys(index)
  if (!Buffer.from(withdrawalCredentials).equals(Buffer.from(credentialsOf(0, pubkey)))) return
  const change = {
    message: { validatorIndex: index, fromBlsPubkey: pubkey, toExecutionAddress: bytes(draws, 20) },
    signature: new Uint8Array(96),
  }
  const { signingRoot } = transition.getBlsToExecutionChangeSignatureSet(state.config, change)
  change.signature = secret.sign(signingRoot).toBytes()
  body.blsToExecutionChanges = [change]
  note(chain, 'credentials changes')
}

function drawRequests(chain, state, body) {
  const { draws, scenario } = chain
  const { executionRequests: requests } = body
  const addressOf = (index) => new Uint8Array(state.validators.getReadonly(index).withdrawalCredentials.subarray(12))
  const pubkeyOf = (index) => state.validators.getReadonly(index).pubkey
  if (draws.happens(scenario.deposits))
    requests.deposits = Array.from({ length: draws.whole(1, 4) }, () => drawDeposit(chain, state))
  for (let at = 0; at < 3; at++) {
    if (!draws.happens(scenario.requests)) continue
    const index = pickValidator(chain, state)
    const amount = draws.pick([
      0n,
      BigInt(draws.whole(1, 40 * eth)),
      BigInt(eth),
      BigInt(draws.whole(1, 900)) * BigInt(eth),
    ])
    const sourceAddress = draws.happens(0.9) ? addressOf(index) : bytes(draws, 20)
    requests.withdrawals.push({ sourceAddress, validatorPubkey: pubkeyOf(index), amount })
  }
  if (scenario.switches?.slot === state.slot) {
    const { validator } = scenario.switches
    requests.consolidations.push({
      sourceAddress: addressOf(validator),
      sourcePubkey: pubkeyOf(validator),
      targetPubkey: pubkeyOf(validator),
    })
  }
  for (let at = requests.consolidations.length; at < 2; at++) {
    if (!draws.happens(scenario.requests)) continue
    // A request from a validator to itself makes it compounding.
    const isSwitch = draws.happens(0.3)
    const source = isSwitch ? pickWithPrefix(chain, state, 1) : pickValidator(chain, state)
    const target = isSwitch ? source : pickWithPrefix(chain, state, 2)
    requests.consolidations.push({
      sourceAddress: addressOf(source),
      sourcePubkey: pubkeyOf(source),
      targetPubkey: pubkeyOf(target),
    })
  }
}

function pickWithPrefix(chain, state, prefix) {
  for (let attempt = 0; attempt < 20; attempt++) {
    const index = pickValidator(chain, state)
    if (state.validators.getReadonly(index).withdrawalCredentials[0] === prefix) return index
  }
  return pickValidator(chain, state)
}

/** To a known validator, to a new one, or with an invalid signature. */
function drawDeposit(chain, state) {
  const { lodestar, draws, keys } = chain
  const { params, transition, types } = lodestar
  const isTopUp = draws.happens(0.5)
  const index = isTopUp ? pickValidator(chain, state) : draws.happens(0.2) ? chain.newKeys : chain.newKeys++
  const { secret, pubkey } = keys(index)
  const amount = draws.pick([eth, 32 * eth, 32 * eth, draws.whole(1, 100) * eth, draws.whole(eth, 64 * eth)])
  const message = { pubkey, withdrawalCredentials: credentialsOf(draws.pick([0, 1, 2]), pubkey, draws), amount }
  const domain = transition.computeDomain(
    params.DOMAIN_DEPOSIT,
    chain.chainConfig.GENESIS_FORK_VERSION,
    new Uint8Array(32),
  )
  const root = transition.computeSigningRoot(types.ssz.phase0.DepositMessage, message, domain)
  const isValid = draws.happens(0.8)
  note(chain, isTopUp ? 'top-ups' : isValid ? 'new validators' : 'invalid deposits')
  return {
    ...message,
    signature: isValid ? secret.sign(root).toBytes() : new Uint8Array(96),
    index: BigInt(chain.depositIndex++),
  }
}
