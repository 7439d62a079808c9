// Responses of a node about a chain, in the format of test/beacon-replay.ts.

const json = 'application/json'
const octets = 'application/octet-stream'
const toHex = (value) => `0x${Buffer.from(value).toString('hex')}`

const addJson = (exchanges, path, data, more = {}) =>
  exchanges.push({
    ...{ method: 'GET', path, accept: json, status: 200, headers: { 'content-type': json, ...more.headers } },
    ...{ bodyEncoding: 'utf8', body: JSON.stringify({ ...more.fields, data }) },
  })

const addBytes = (exchanges, path, value, version) =>
  exchanges.push({
    ...{ method: 'GET', path, accept: octets, status: 200 },
    ...{ headers: { 'content-type': octets, 'eth-consensus-version': version } },
    ...{ bodyEncoding: 'base64', body: Buffer.from(value).toString('base64') },
  })

export function recordChain({ lodestar, chainConfig, state }, exchanges) {
  const { config, params, types } = lodestar
  const spec = { ...config.specValuesToJson(params.activePreset), ...config.chainConfigToJson(chainConfig) }
  addJson(exchanges, '/eth/v1/config/spec', spec)
  addJson(exchanges, '/eth/v1/beacon/genesis', {
    genesis_time: String(state.genesisTime),
    genesis_validators_root: toHex(state.genesisValidatorsRoot),
    genesis_fork_version: toHex(chainConfig.GENESIS_FORK_VERSION),
  })
  addJson(exchanges, '/eth/v1/node/syncing', { head_slot: '0', sync_distance: '0', is_syncing: false })
  const header = { ...state.latestBlockHeader.toValue(), stateRoot: state.hashTreeRoot() }
  addHeader(exchanges, types, header)
}

function addHeader(exchanges, { ssz }, header) {
  const type = ssz.phase0.BeaconBlockHeader
  addJson(exchanges, `/eth/v1/beacon/headers/${header.slot}`, {
    root: toHex(type.hashTreeRoot(header)),
    canonical: true,
    header: { message: type.toJson(header), signature: toHex(new Uint8Array(96)) },
  })
}

export function recordBlock({ lodestar, scenario }, exchanges, signed, fork) {
  const { types } = lodestar
  const path = `/eth/v2/beacon/blocks/${signed.message.slot}`
  const type = types.ssz[fork].SignedBeaconBlock
  addBytes(exchanges, path, type.serialize(signed), fork)
  const headers = { 'eth-consensus-version': fork }
  if (scenario.hasJson) addJson(exchanges, path, type.toJson(signed), { headers, fields: { version: fork } })
  const { slot, proposerIndex, parentRoot, stateRoot, body } = signed.message
  const bodyRoot = types.ssz[fork].BeaconBlockBody.hashTreeRoot(body)
  addHeader(exchanges, types, { slot, proposerIndex, parentRoot, stateRoot, bodyRoot })
}

/** What a node has about the first slot of an epoch and its duties. */
export function recordEpoch({ lodestar, state, slotsPerEpoch }, exchanges) {
  const { types } = lodestar
  const { slot, epochCtx, config } = state
  const { epoch } = epochCtx
  const { ssz } = types
  const fork = config.getForkName(slot)
  const at = `/eth/v1/beacon/states/${slot}`
  addBytes(exchanges, `/eth/v2/debug/beacon/states/${slot}`, state.serialize(), fork)
  const balances = state.balances.getAll()
  addJson(
    exchanges,
    `${at}/validators`,
    state.validators.getAllReadonlyValues().map((validator, index) => ({
      ...{ index: String(index), balance: String(balances[index]), status: 'active_ongoing' },
      validator: ssz.phase0.Validator.toJson(validator),
    })),
  )
  if (state.pendingDeposits) {
    addJson(exchanges, `${at}/pending_deposits`, ssz.electra.PendingDeposits.toJson(state.pendingDeposits.toValue()))
    const consolidations = state.pendingConsolidations.toValue()
    addJson(exchanges, `${at}/pending_consolidations`, ssz.electra.PendingConsolidations.toJson(consolidations))
  }
  addFinality(exchanges, slot, state)
  const slots = Array.from({ length: slotsPerEpoch }, (_, offset) => slot + offset)
  const count = epochCtx.getCommitteeCountPerSlot(epoch)
  const committees = slots.flatMap((slot) =>
    Array.from({ length: count }, (_, index) => ({
      ...{ index: String(index), slot: String(slot) },
      validators: Array.from(epochCtx.getBeaconCommittees(slot, [index])[0], String),
    })),
  )
  addJson(exchanges, `${at}/committees?epoch=${epoch}`, committees)
  const seats = Array.from(epochCtx.currentSyncCommitteeIndexed.validatorIndices, String)
  addJson(exchanges, `${at}/sync_committees?epoch=${epoch}`, { validators: seats, validator_aggregates: [] })
  const duties = slots.map((slot) => {
    const index = epochCtx.getBeaconProposer(slot)
    return {
      slot: String(slot),
      validator_index: String(index),
      pubkey: toHex(state.validators.getReadonly(index).pubkey),
    }
  })
  addJson(exchanges, `/eth/v1/validator/duties/proposer/${epoch}`, duties)
}

function addFinality(exchanges, id, state) {
  const checkpoint = ({ epoch, root }) => ({ epoch: String(epoch), root: toHex(root) })
  addJson(exchanges, `/eth/v1/beacon/states/${id}/finality_checkpoints`, {
    previous_justified: checkpoint(state.previousJustifiedCheckpoint),
    current_justified: checkpoint(state.currentJustifiedCheckpoint),
    finalized: checkpoint(state.finalizedCheckpoint),
  })
}

export const recordHead = ({ state }, exchanges) => addFinality(exchanges, 'head', state)
