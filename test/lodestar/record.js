// Records chains that Lodestar computed, as a second opinion on rewards, penalties, balances and registry. JavaScript,
// because Lodestar is not installed with the project: its packages take 27 MB.
//   node test/lodestar/record.js LODESTAR [FOLDER] [SEED]
// LODESTAR: where the packages are installed (test/recordings/lodestar/README.md lists them).
// Writes FOLDER/<chain>/: responses of a node (exchanges) and what they must lead to (truth).
import { mkdirSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { constants, zstdCompressSync } from 'node:zlib'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { createChain, drawBlock, drawVotes, note } from './chain.js'
import { recordBlock, recordChain, recordEpoch, recordHead } from './exchanges.js'
import { scenarios } from './scenarios.js'
import { balancesOf, rewardParts, transfersOf } from './truth.js'

process.env.LODESTAR_PRESET = 'minimal'

/** Imports the packages that are installed in this folder. */
async function loadLodestar(folder) {
  const parentURL = pathToFileURL(join(resolve(folder), 'package.json')).href
  registerHooks({
    resolve: (name, context, next) =>
      /^@(lodestar|chainsafe)\//.test(name) && context.parentURL === import.meta.url
        ? next(name, { ...context, parentURL })
        : next(name, context),
  })
  const [params, config, defaults, types, transition, epoch, { BitArray }] = await Promise.all([
    ...[import('@lodestar/params'), import('@lodestar/config'), import('@lodestar/config/default')],
    ...[import('@lodestar/types'), import('@lodestar/state-transition'), import('@lodestar/state-transition/epoch')],
    import('@chainsafe/ssz'),
  ])
  return { params, config: { ...config, chainConfig: defaults.chainConfig }, types, transition, epoch, BitArray }
}

const options = {
  ...{ verifyStateRoot: false, verifyProposer: false, verifySignatures: false },
  ...{ executionPayloadStatus: 'valid', dataAvailabilityStatus: 'Available' },
}

function recordScenario(lodestar, name, scenario, seed) {
  const { transition } = lodestar
  const chain = createChain(lodestar, scenario, createSeededRandom(`${name}${scenario.seed ?? ''}${seed}`))
  const { slotsPerEpoch } = chain
  const exchanges = []
  const truth = { name, hasJson: scenario.hasJson === true, epochs: [], blocks: [], events: chain.events }
  recordChain(chain, exchanges)
  let before = balancesOf(chain.state)
  /** By validator, since the last boundary: balance changes by deposits and consolidations, and by withdrawals. */
  let [transfers, withdrawals] = [new Map(), new Map()]
  const add = (sums, index, gwei) => sums.set(index, (sums.get(index) ?? 0) + gwei)
  const move = (index, gwei) => add(transfers, index, gwei)
  const withdraw = (index, gwei) => add(withdrawals, index, gwei)
  recordEpoch(chain, exchanges)
  drawVotes(chain, chain.state)
  for (let slot = 1; slot <= scenario.epochs * slotsPerEpoch; slot++) {
    const isBoundary = slot % slotsPerEpoch === 0
    const epoch = slot / slotsPerEpoch - 1
    if (isBoundary) {
      if (epoch > 0) {
        truth.epochs[epoch - 1].rewards = rewardParts(chain)
        truth.epochs[epoch - 1].flags = chain.state.previousEpochParticipation.getAll()
      }
      for (const [index, gwei] of transfersOf(chain, slot)) move(index, gwei)
    }
    const state = transition.processSlots(chain.state, slot)
    const drawn = drawBlock(chain, state)
    chain.state = drawn ? applyBlock(chain, state, drawn, { truth, exchanges, move, withdraw }) : state
    if (isBoundary) {
      const after = balancesOf(chain.state)
      const other = (index) => (transfers.get(index) ?? 0) - (withdrawals.get(index) ?? 0)
      const earned = after.map((gwei, index) => gwei - (before[index] ?? 0) - other(index))
      truth.epochs.push({ epoch, earned, transfers: [...transfers].filter(([, gwei]) => gwei !== 0) })
      // The scores at the end of an epoch follow from the votes of the one before.
      if (epoch > 0) truth.epochs[epoch - 1].scores = chain.state.inactivityScores.getAll()
      before = after
      transfers = new Map()
      withdrawals = new Map()
      recordEpoch(chain, exchanges)
    }
    drawVotes(chain, chain.state)
  }
  recordHead(chain, exchanges)
  if (scenario.switches && !chain.events['switches in a first slot'])
    console.error(`${name}: no switch in slot ${scenario.switches.slot}; choose another seed`)
  truth.finalizedEpoch = chain.state.finalizedCheckpoint.epoch
  return { exchanges, truth }
}

function applyBlock(chain, state, { block, forkName }, { truth, exchanges, move, withdraw }) {
  const { transition } = chain.lodestar
  const signed = { message: block, signature: new Uint8Array(96) }
  const after = transition.stateTransition(state, signed, options)
  block.stateRoot = after.hashTreeRoot()
  recordBlock(chain, exchanges, signed, forkName)
  const { attestations, syncAggregate, slashing } = after.proposerRewards
  const { syncParticipantReward: syncSeat } = state.epochCtx
  truth.blocks.push({
    slot: block.slot,
    proposer: block.proposerIndex,
    attestations,
    sync: syncAggregate,
    slashing,
    syncSeat,
  })
  for (const { validatorIndex, amount } of block.body.executionPayload.withdrawals)
    withdraw(validatorIndex, Number(amount))
  const { executionRequests } = block.body
  const { switches } = chain.scenario
  if (switches?.slot === block.slot && after.validators.getReadonly(switches.validator).withdrawalCredentials[0] === 2)
    note(chain, 'switches in a first slot')
  if (!executionRequests) return after
  noteRequests(chain, state, after)
  // A validator that becomes compounding has its balance above 32 ETH moved to the queue.
  const without = { ...block, body: { ...block.body, executionRequests: { ...executionRequests, consolidations: [] } } }
  const plain = balancesOf(transition.stateTransition(state, { ...signed, message: without }, options))
  balancesOf(after).forEach((gwei, index) => {
    if (gwei !== plain[index]) note(chain, 'queued excess balances')
    move(index, gwei - plain[index])
  })
  return after
}

function noteRequests(chain, before, after) {
  const grown = (name) => Math.max(0, after[name].length - before[name].length)
  note(chain, 'partial withdrawal requests', grown('pendingPartialWithdrawals'))
  note(chain, 'consolidation requests', grown('pendingConsolidations'))
}

const recordings = join(import.meta.dirname, '../recordings/lodestar')
const [packages, folder = recordings, seed = ''] = process.argv.slice(2)
const lodestar = await loadLodestar(packages)
const pack = (text) =>
  zstdCompressSync(text, { params: { [constants.ZSTD_c_compressionLevel]: 19, [constants.ZSTD_c_windowLog]: 24 } })
for (const [name, scenario] of Object.entries(scenarios)) {
  const { exchanges, truth } = recordScenario(lodestar, name, scenario, seed)
  const target = join(folder, name)
  mkdirSync(target, { recursive: true })
  const packed = pack(exchanges.map((exchange) => JSON.stringify(exchange)).join('\n'))
  writeFileSync(join(target, 'exchanges.ndjson.zst'), packed)
  writeFileSync(join(target, 'truth.json.zst'), pack(JSON.stringify(truth)))
  console.log(name, packed.length, 'bytes, finalized', truth.finalizedEpoch, truth.events)
}
