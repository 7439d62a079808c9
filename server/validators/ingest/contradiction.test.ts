// One altered answer of a node: nothing is stored of the epoch, the reason is told, and when the node has recovered the right
// figures are stored. With a second node, that one decides.
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { simulateNetwork } from '#simulator/beacon/networks.ts'
import { type BeaconNodeOptions, openNode, type SimBeaconNode } from '#simulator/beacon/node.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { type Alteration, bytesAt, jsonAt, openAlteringProxy } from '#test/altering-proxy.ts'
import { openContext, settingsWith, type TestContext } from '#test/context.ts'
import { emptyDuties, storedRows } from '#test/stored-duties.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { Follower } from './follow.ts'
import { withChainTimes } from './read/chain-identity.ts'

const network = 'hoodi'
const slotsPerEpoch = 4
const world = simulateNetwork('contradiction', {
  ...{ epochs: 10, outage: { from: 0, until: 0 }, slashing: 0, missed: 0.05, orphaned: 0, balanceChanges: 0.4 },
  ...{ slotsPerEpoch, validators: 24, committeesPerSlot: 2, forkEpochs: presentForks, hasExecution: false },
})
/** The altered answers are about this epoch, or the one after it. */
const epoch = 4
const firstSlot = epoch * slotsPerEpoch
const slot =
  [...world.blocks.values()].find((one) => one.slot > firstSlot + 1 && one.attestations.length > 0)?.slot ?? 0

const nodes: SimBeaconNode[] = []
after(() => Promise.all(nodes.map((node) => node[Symbol.asyncDispose]())))
async function nodeWith(habits: BeaconNodeOptions): Promise<SimBeaconNode> {
  const node = await openNode(world, habits)
  nodes.push(node)
  return node
}
const wholeStates = await nodeWith({ ssz: true, states: true })
const jsonOnly = await nodeWith({})
const withoutQueues = await nodeWith({ queues: false })

const context = await openContext()
after(() => context[Symbol.asyncDispose]())

/** With the chain's time as the node reports it. */
let settings = context.settings

async function followerOf(urls: readonly string[], log: TestContext['log'] = context.log): Promise<Follower> {
  const own = { epochsPerHour: 3, epochsPerDay: 6, beacon: { urls: [...urls], fromEpoch: 0 } }
  settings = await withChainTimes({
    ...context,
    settings: settingsWith({ validators: { networks: { [network]: own } } }),
    clock: systemClock,
  })
  const beacon = openBeacon({ network, urls, timeoutMs: 5000, clock: systemClock, backoffMs: 1 })
  return new Follower({ ...context, settings, log }, network, beacon)
}

const { signal } = new AbortController()
const rows = async () => JSON.stringify(await storedRows({ ...context, settings }, network, 'hours'))

async function empty(): Promise<void> {
  await emptyDuties(context)
  await context.state.write((tx) => tx.run('delete from validators'))
}

afterEach(empty)

async function figuresOf(url: string): Promise<string> {
  await (await followerOf([url])).catchUp(signal)
  const found = await rows()
  await empty()
  return found
}
const truth = await figuresOf(wholeStates.url)

interface Block {
  message: { parent_root: string; body: { attestations: { aggregation_bits: string }[] } }
}
interface Listed {
  balance: string
  validator: { effective_balance: string; pubkey: string }
}
const flip = (text: string): string => text.slice(0, 2) + (text[2] === '0' ? '1' : '0') + text.slice(3)
const blockPath = new RegExp(`/blocks/${slot}$`)
const listPath = new RegExp(`/states/${firstSlot}/validators$`)
const gwei = 1_000_000_000

const cases: readonly (readonly [name: string, node: SimBeaconNode, change: Alteration, message: RegExp])[] = [
  [
    'a wrong parent root',
    jsonOnly,
    jsonAt<Block>(blockPath, ({ message }) => {
      message.parent_root = flip(message.parent_root)
    }),
    new RegExp(`epoch \\d, slot ${slot}: the block names 0x\\w+ as its parent, but .* has the root 0x`),
  ],
  [
    'a flipped bit of an attestation in JSON',
    jsonOnly,
    jsonAt<Block>(blockPath, ({ message: { body } }) => {
      const [one] = body.attestations
      if (one) one.aggregation_bits = flip(one.aggregation_bits)
    }),
    /as its parent, but the block of slot \d+ has the root/,
  ],
  [
    'a flipped bit of a block in SSZ',
    wholeStates,
    bytesAt(blockPath, (bytes) => {
      // Of the body's first field, the randao reveal.
      const at = 100 + 84 + 7
      bytes[at] = (bytes[at] as number) ^ 1
    }),
    /as its parent, but the block of slot \d+ has the root/,
  ],
  [
    'a validator list that is one short',
    jsonOnly,
    jsonAt<Listed[]>(listPath, (list) => list.slice(0, -1)),
    /the registry shrinks from \d+ to \d+ validators|the balance of validator \d+ differs by 32000000000 gwei/,
  ],
  [
    'a wrong effective balance',
    jsonOnly,
    jsonAt<Listed[]>(listPath, (list) => {
      const { validator } = list[7] as Listed
      validator.effective_balance = String(Number(validator.effective_balance) - gwei)
    }),
    new RegExp(
      `epoch ${epoch - 1}: the state of slot ${firstSlot} does not follow .* the effective balance of validator 7`,
    ),
  ],
  [
    'a wrong balance',
    jsonOnly,
    jsonAt<Listed[]>(listPath, (list) => {
      const own = list[7] as Listed
      own.balance = String(Number(own.balance) + 1)
    }),
    /the balance of validator 7 differs by 1 gwei/,
  ],
  [
    'another public key',
    jsonOnly,
    jsonAt<Listed[]>(listPath, (list) => {
      const { validator } = list[7] as Listed
      validator.pubkey = flip(validator.pubkey)
    }),
    /the public key of validator 7 changes/,
  ],
  [
    'committees whose members are swapped',
    wholeStates,
    jsonAt<{ validators: string[] }[]>(new RegExp(`/committees\\?epoch=${epoch}$`), (list) => {
      const [last, ...others] = list.flatMap(({ validators }) => validators).toReversed()
      const members = [last as string, ...others.toReversed()]
      for (const one of list) one.validators = members.splice(0, one.validators.length)
    }),
    /the balance of validator/,
  ],
  [
    'a finality that lags, as if the chain leaked',
    wholeStates,
    jsonAt(new RegExp(`/states/${firstSlot + 3 * slotsPerEpoch}/finality`), () => ({
      finalized: { epoch: '0', root: '0x' },
    })),
    /the balance of validator/,
  ],
]

for (const [name, node, change, message] of cases) {
  test(`${name}: the epoch is not stored, and read right when the node has recovered`, async () => {
    await using proxy = await openAlteringProxy(node.url, change)
    const follower = await followerOf([proxy.url])
    const error = await follower.catchUp(signal).then(
      () => assert.fail('it was stored'),
      (thrown: Error) => thrown,
    )
    assert.equal(error.name, 'ContradictionError')
    assert.match(error.message, message)
    assert(error.message.endsWith(`; node ${proxy.url}`), error.message)
    assert(proxy.count() > 0)
    const covered = (await coveredEpochs(context.duties, network)).at(-1)?.until ?? 0
    assert(covered < world.finalized - 1, `epochs up to ${covered} are stored`)
    proxy.alter()
    await follower.catchUp(signal)
    assert.equal(await rows(), truth)
  })
}

test('with a second node, that one decides, and the log names what differs', async () => {
  const [, node, change] = cases[1] as (typeof cases)[number]
  await using proxy = await openAlteringProxy(node.url, change)
  const warned: { reason?: string }[] = []
  const warn = (fields: object) => void warned.push(fields)
  const follower = await followerOf([proxy.url, wholeStates.url], {
    ...context.log,
    warn,
  } as unknown as TestContext['log'])
  await follower.catchUp(signal)
  assert.equal(await rows(), truth)
  assert.equal(warned.length, 1)
  assert.match(warned[0]?.reason ?? '', new RegExp(`as its parent.*; node ${proxy.url}; ${wholeStates.url} decided$`))
})

test('what two nodes agree on is stored: the rules are in doubt then, not a node', async () => {
  const change = jsonAt<Listed[]>(/\/states\/\d+\/validators$/, (list) => {
    const own = list[7] as Listed
    own.balance = String(Number(own.balance) + 5)
  })
  const late: Alteration = (answer) =>
    Number(/\/states\/(\d+)\//.exec(answer.path)?.[1] ?? 0) >= firstSlot ? change(answer) : undefined
  await using first = await openAlteringProxy(jsonOnly.url, late)
  await using second = await openAlteringProxy(jsonOnly.url, late)
  await assert.rejects((await followerOf([first.url])).catchUp(signal), /the balance of validator 7 differs by 5 gwei/)
  await (await followerOf([first.url, second.url])).catchUp(signal)
  assert.equal(await rows(), truth, 'it is no earning')
  const moved = await context.duties.all(
    'select in_gwei from unexplained_balance_changes where epoch = ? and in_gwei % 10 = 5',
    epoch - 1,
  )
  assert.equal(moved.length, 1)
})

test('a node without pending queues is read, as long as few balances lack an explanation', async () => {
  assert.equal(await figuresOf(withoutQueues.url), truth)
  const many = jsonAt<Listed[]>(listPath, (list) => {
    for (const own of list) own.balance = String(Number(own.balance) + 1)
  })
  await using proxy = await openAlteringProxy(withoutQueues.url, many)
  await assert.rejects((await followerOf([proxy.url])).catchUp(signal), /and \d+ more; node/)
})
