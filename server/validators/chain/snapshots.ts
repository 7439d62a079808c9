// The snapshots of a network: states at the start of final epochs, in a folder. After a restart, the chain process continues
// from one of them instead of asking a node for a state. The past is computed from older ones.
//
// 1. The two newest are kept, and the last one of each of the days before.
// 2. A file is complete or absent (`saveState`). Its name has the epoch and the state root, which is verified when the
//    state is loaded. A file that cannot be loaded is deleted.
// 3. With them is a file with the decoded keys of all validators (`saveKeys`), which saves time only.
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type ChainCaller, ChainProcessError } from './chain-process.ts'
import type { EpochStartId, LoadedState, Root } from './messages.ts'

const newestKept = 2
const nameOf = /^(\d{1,16})-([0-9a-f]{64})\.ssz\.zst$/
const keysNameOf = /^[0-9a-f]{64}-(\d{1,10})\.keys$/
/** The file with keys is written again when it has less than this part of them. */
const keysShareMin = 0.99

interface Snapshot {
  readonly epoch: number
  readonly stateRoot: Root
  readonly file: string
}

export interface SnapshotOptions {
  readonly folder: string
  readonly epochsPerDay: number
  /** Days before that of the newest snapshot. */
  readonly daysKept: number
  /** For states from elsewhere. Default: the folder of the snapshots. */
  readonly temporaryFolder?: string | undefined
}

export class Snapshots {
  readonly #options: SnapshotOptions
  readonly #folder: string

  constructor(options: SnapshotOptions) {
    this.#options = options
    this.#folder = options.folder
  }

  /** Oldest first. */
  async list(): Promise<Snapshot[]> {
    const found = (await this.#names()).flatMap((name): Snapshot[] => {
      const [, epoch, root] = nameOf.exec(name) ?? []
      return root ? [{ epoch: Number(epoch), stateRoot: `0x${root}`, file: join(this.#folder, name) }] : []
    })
    return found.sort((a, b) => a.epoch - b.epoch)
  }

  #names = (): Promise<string[]> => readdir(this.#folder).catch(() => [])

  /** The newest snapshot that is not after an epoch. */
  async newest(epoch: number): Promise<Snapshot | undefined> {
    return (await this.list()).findLast((snapshot) => snapshot.epoch <= epoch)
  }

  /** Loads the newest snapshot that is not after an epoch. Undefined: there is none. */
  async load(process: ChainCaller, epoch: number): Promise<LoadedState | undefined> {
    const { file: keysFile } = (await this.#keys()) ?? {}
    for (const { file, stateRoot } of (await this.list()).filter((snapshot) => snapshot.epoch <= epoch).reverse()) {
      try {
        return await process.call('loadState', { file, stateRoot, keysFile })
      } catch (error) {
        // The process has died or was too slow, which says nothing about the file.
        if (error instanceof ChainProcessError) throw error
        await rm(file, { force: true })
      }
    }
    return undefined
  }

  /** A file for a state from elsewhere. The caller deletes it. What is left after a crash goes with the next snapshot. */
  async fileFor(name: string): Promise<string> {
    const folder = this.#options.temporaryFolder ?? this.#folder
    await mkdir(folder, { recursive: true })
    return join(folder, `${name}-${randomUUID()}.ssz`)
  }

  /** Saves an epoch start, and deletes what is not kept. */
  async save(process: ChainCaller, id: EpochStartId, stateRoot: Root): Promise<void> {
    await mkdir(this.#folder, { recursive: true })
    const name = `${id.epoch}-${stateRoot.slice(2)}.ssz.zst`
    const { validators } = await process.call('saveState', { ...id, file: join(this.#folder, name) })
    const keys = await this.#keys()
    if (!keys || keys.count < validators * keysShareMin) await process.call('saveKeys', { folder: this.#folder })
    const kept = new Set([...this.#kept(await this.list()), await this.#keys()].map((one) => one?.file))
    for (const other of await this.#names())
      if (!kept.has(join(this.#folder, other))) await rm(join(this.#folder, other), { force: true })
  }

  /** The file with the most keys. */
  async #keys(): Promise<{ readonly file: string; readonly count: number } | undefined> {
    const found = (await this.#names()).flatMap((name) => {
      const count = keysNameOf.exec(name)?.[1]
      return count === undefined ? [] : [{ file: join(this.#folder, name), count: Number(count) }]
    })
    return found.sort((a, b) => b.count - a.count)[0]
  }

  #kept(all: readonly Snapshot[]): Snapshot[] {
    const { epochsPerDay, daysKept } = this.#options
    const dayOf = ({ epoch }: Snapshot) => Math.floor(epoch / epochsPerDay)
    const newest = all.at(-1)
    const lastOfDays = [...Map.groupBy(all, dayOf).values()].map((ofDay) => ofDay.at(-1) as Snapshot)
    const recent = lastOfDays.filter((snapshot) => newest && dayOf(snapshot) >= dayOf(newest) - daysKept)
    return [...recent, ...all.slice(-newestKept)]
  }
}
