// A private chain of two pairs of geth and Prysm. The first pair has the validators, in two processes; the second follows
// it, with another kind of storage. Each process can be stopped, started again, and frozen.

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { end, freePort, launch, withParent } from '../programs.ts'
import type { NodePrograms } from './build-nodes.ts'
import { rpc } from './calls.ts'
import {
  beaconConfig,
  beaconGenesis,
  chainId,
  contracts,
  type ExecutionBlock,
  executionGenesis,
  type GenesisAccounts,
  slotSeconds,
  validatorCount,
} from './genesis.ts'

/** Time for all nodes to start, on a busy machine. Slots that pass meanwhile are empty. */
const secondsUntilGenesis = 90
const startWithinMs = 300_000

export interface Program {
  start(): Promise<void>
  stop(): Promise<void>
  freeze(): void
  thaw(): void
}

/** Its output is in the file `output` of its folder. The shell replaces itself, so that signals reach the program. */
function programOf(cwd: string, command: readonly string[], ready: number): Program {
  let child: Awaited<ReturnType<typeof launch>> | undefined
  return {
    async start() {
      child = await launch({
        cwd,
        command: [...withParent, 'sh', '-c', 'exec "$@" >> output 2>&1', 'sh', ...command],
        ready,
        withinMs: startWithinMs,
      })
    },
    async stop() {
      if (child) await end(child, 'SIGTERM')
      child = undefined
    },
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
  }
}

export interface ExecutionNode extends Program {
  readonly url: string
  readonly engineUrl: string
  readonly p2pPort: number
}

/** `options`: which states it keeps. */
async function createGeth(
  { geth }: NodePrograms,
  folder: string,
  genesisFile: string,
  options: readonly string[],
): Promise<ExecutionNode> {
  const [http, engine, p2p] = [await freePort(), await freePort(), await freePort()]
  mkdirSync(folder)
  const storage = options.filter((option) => option.startsWith('--state.scheme'))
  execFileSync(geth, ['init', '--datadir', folder, ...storage, genesisFile], { stdio: 'ignore' })
  const args = [
    ...['--datadir', folder, '--networkid', String(chainId), '--syncmode', 'full', ...options],
    ...['--port', String(p2p), '--discovery.port', String(p2p), '--nodiscover', '--nat', 'none', '--ipcdisable'],
    ...['--http', '--http.port', String(http), '--http.api', 'eth,debug,net,web3,admin'],
    ...['--authrpc.port', String(engine), '--authrpc.jwtsecret', join(folder, '..', 'jwt')],
  ]
  return {
    ...programOf(folder, [geth, ...args], http),
    url: `http://127.0.0.1:${http}`,
    engineUrl: `http://127.0.0.1:${engine}`,
    p2pPort: p2p,
  }
}

export interface BeaconNode extends Program {
  readonly url: string
  readonly grpcPort: number
  readonly p2pPort: number
}

async function createPrysm(
  { beaconChain }: NodePrograms,
  folder: string,
  execution: ExecutionNode,
  feeRecipient: string,
  options: readonly string[],
): Promise<BeaconNode> {
  const [http, grpc, p2p] = [await freePort(), await freePort(), await freePort()]
  mkdirSync(folder)
  const args = [
    ...['--accept-terms-of-use', '--datadir', folder, '--disable-monitoring'],
    ...['--chain-config-file', join(folder, '..', 'config.yaml'), '--genesis-state', join(folder, '..', 'genesis.ssz')],
    ...['--execution-endpoint', execution.engineUrl, '--jwt-secret', join(folder, '..', 'jwt')],
    ...['--deposit-contract', contracts.deposit, '--contract-deployment-block', '0'],
    ...['--chain-id', String(chainId), '--network-id', String(chainId)],
    ...['--suggested-fee-recipient', feeRecipient, '--slots-per-archive-point', '32'],
    ...['--http-host', '127.0.0.1', '--http-port', String(http), '--rpc-host', '127.0.0.1', '--rpc-port', String(grpc)],
    ...['--p2p-tcp-port', String(p2p), '--p2p-udp-port', String(p2p), '--disable-quic'],
    ...['--p2p-host-ip', '127.0.0.1', '--p2p-local-ip', '127.0.0.1', '--no-discovery'],
    ...['--bootstrap-node=', '--minimum-peers-per-subnet', '0', ...options],
  ]
  return {
    ...programOf(folder, [beaconChain, ...args], http),
    url: `http://127.0.0.1:${http}`,
    grpcPort: grpc,
    p2pPort: p2p,
  }
}

/** The client of the validators from `first` to before `until`. */
async function createValidators(
  { validator }: NodePrograms,
  folder: string,
  { grpcPort }: BeaconNode,
  feeRecipient: string,
  first: number,
  until: number,
): Promise<Program> {
  mkdirSync(folder)
  const http = await freePort()
  const args = [
    ...['--accept-terms-of-use', '--datadir', folder, '--disable-monitoring', '--force-clear-db'],
    ...['--chain-config-file', join(folder, '..', 'config.yaml'), '--suggested-fee-recipient', feeRecipient],
    ...['--beacon-rpc-provider', `127.0.0.1:${grpcPort}`, '--rpc', '--http-port', String(http)],
    ...['--interop-num-validators', String(until - first), '--interop-start-index', String(first)],
  ]
  return programOf(folder, [validator, ...args], http)
}

const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** A key of libp2p and its peer id: base 58 of the public key, with its type and length. */
function makeIdentity(): { readonly key: string; readonly peerId: string } {
  const key = randomBytes(32).toString('hex')
  const typed = Buffer.concat([Buffer.from('002508021221', 'hex'), secp256k1.getPublicKey(Buffer.from(key, 'hex'))])
  let peerId = ''
  for (let rest = BigInt(`0x${typed.toString('hex')}`); rest > 0n; rest /= 58n)
    peerId = base58[Number(rest % 58n)] + peerId
  return { key, peerId: `1${peerId}` }
}

export interface PrivateChain {
  readonly genesisUnix: number
  readonly validatorsRoot: Uint8Array
  readonly execution: readonly [ExecutionNode, ExecutionNode]
  readonly beacon: readonly [BeaconNode, BeaconNode]
  readonly validators: readonly [Program, Program]
  readonly currentSlot: () => number
  readonly waitForSlot: (slot: number) => Promise<void>
  close(): Promise<void>
}

/** The second process has the validators from this one on, and is stopped for some epochs. */
const firstAbsent = 56

export interface PrivateChainOptions {
  readonly programs: NodePrograms
  readonly folder: string
  readonly accounts: GenesisAccounts
  readonly withdrawalAddress: string
  readonly feeRecipient: string
}

/** The contracts of the consensus layer, as the genesis of a public network has them. */
export function readSystemContracts(geth: string): GenesisAccounts {
  const { alloc } = JSON.parse(execFileSync(geth, ['--hoodi', 'dumpgenesis'], { encoding: 'utf8', maxBuffer: 2 ** 28 }))
  return Object.fromEntries(Object.entries(alloc as GenesisAccounts).filter(([, account]) => account.code))
}

export async function startPrivateChain(options: PrivateChainOptions): Promise<PrivateChain> {
  const { programs, folder, accounts, withdrawalAddress, feeRecipient } = options
  const nowUnix = Math.floor(Date.now() / 1000)
  const genesisUnix = nowUnix + secondsUntilGenesis
  const genesisFile = join(folder, 'genesis.json')
  const alloc = { ...readSystemContracts(programs.geth), ...accounts }
  writeFileSync(genesisFile, JSON.stringify(executionGenesis(nowUnix, alloc)))
  writeFileSync(join(folder, 'jwt'), randomBytes(32).toString('hex'))
  writeFileSync(join(folder, 'config.yaml'), beaconConfig())

  const archive = await createGeth(programs, join(folder, 'geth-archive'), genesisFile, [
    ...['--gcmode=archive', '--state.scheme=hash'],
  ])
  const full = await createGeth(programs, join(folder, 'geth-full'), genesisFile, ['--state.scheme=path'])
  await Promise.all([archive.start(), full.start()])
  const first = (await rpc(archive.url, 'eth_getBlockByNumber', ['0x0', false])) as ExecutionBlock
  const genesis = beaconGenesis(genesisUnix, first, withdrawalAddress)
  writeFileSync(join(folder, 'genesis.ssz'), genesis.ssz)

  // Without discovery, a node does not report its own name to peers.
  const identity = makeIdentity()
  const keyFile = join(folder, 'p2p-key')
  writeFileSync(keyFile, identity.key)
  const leader = await createPrysm(programs, join(folder, 'prysm-leader'), archive, feeRecipient, [
    ...['--p2p-priv-key', keyFile, '--min-sync-peers', '0', '--supernode'],
  ])
  await leader.start()
  const peer = `/ip4/127.0.0.1/tcp/${leader.p2pPort}/p2p/${identity.peerId}`
  const follower = await createPrysm(programs, join(folder, 'prysm-follower'), full, feeRecipient, [
    ...['--peer', peer, '--p2p-static-id', '--min-sync-peers', '1'],
  ])
  const clients = await Promise.all([
    createValidators(programs, join(folder, 'validators'), leader, feeRecipient, 0, firstAbsent),
    createValidators(programs, join(folder, 'absent-validators'), leader, feeRecipient, firstAbsent, validatorCount),
  ])
  await Promise.all([follower, ...clients].map((program) => program.start()))
  const currentSlot = (): number => Math.floor((Date.now() / 1000 - genesisUnix) / slotSeconds)
  return {
    genesisUnix,
    validatorsRoot: genesis.validatorsRoot,
    execution: [archive, full],
    beacon: [leader, follower],
    validators: clients,
    currentSlot,
    async waitForSlot(slot) {
      await sleep(Math.max(0, (genesisUnix + slot * slotSeconds) * 1000 - Date.now()))
    },
    async close() {
      for (const program of [...clients, follower, leader, archive, full]) {
        program.thaw()
        await program.stop()
      }
    },
  }
}
