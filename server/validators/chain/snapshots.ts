// The snapshots of a network: states at the start of final epochs, in a folder. After a restart, the chain process continues
// from one of them instead of asking a node for a state. The past is computed from older ones.
//
// 1. The two newest are kept, and the last one of each of the days before.
// 2. A file is complete or absent (`saveState`). Its name has the epoch and the state root, which is verified when the
//    state is loaded. A file that cannot be loaded is deleted.
// 3. With them is a file with the decoded keys of all validators (state-files.ts), which saves time only.
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { chainDayOf } from '#core/chain-time.ts'
import { type ChainCaller, ChainProcessError } from './chain-process.ts'
import type { EpochStartId, LoadedState, Root } from './messages.ts'
import { keysOfState } from './state-files.ts'

const newestKept = 2
const nameOf = /^(\d{1,16})-([0-9a-f]{64})\.ssz\.zst$/

export interface Snapshot {
  readonly epoch: number
  readonly stateRoot: Root
  readonly file: string
}

/** Oldest first. */
export async function listSnapshots(folder: string): Promise<Snapshot[]> {
  const found = (await namesIn(folder)).flatMap((name): Snapshot[] => {
    const [, epoch, root] = nameOf.exec(name) ?? []
    return root ? [{ epoch: Number(epoch), stateRoot: `0x${root}`, file: join(folder, name) }] : []
  })
  return found.sort((a, b) => a.epoch - b.epoch)
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])

export const snapshotFile = (folder: string, epoch: number, stateRoot: Root): string =>
  join(folder, `${epoch}-${stateRoot.slice(2)}.ssz.zst`)

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
  list(): Promise<Snapshot[]> {
    return listSnapshots(this.#folder)
  }

  /** The newest snapshot that is not after an epoch. */
  async newest(epoch: number): Promise<Snapshot | undefined> {
    return (await this.list()).findLast((snapshot) => snapshot.epoch <= epoch)
  }

  /** Loads the newest snapshot that is not after an epoch. Undefined: there is none. */
  async load(process: ChainCaller, epoch: number): Promise<LoadedState | undefined> {
    for (const { file, stateRoot } of (await this.list()).filter((snapshot) => snapshot.epoch <= epoch).reverse()) {
      try {
        return await process.call('loadState', { file, stateRoot })
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
    await process.call('saveState', { ...id, file: snapshotFile(this.#folder, id.epoch, stateRoot) })
    const states = this.#kept(await this.list()).map(({ file }) => file)
    const keys = await Promise.all(states.map(keysOfState))
    const kept = new Set([...states, ...keys.map((one) => one?.file)])
    for (const other of await namesIn(this.#folder))
      if (!kept.has(join(this.#folder, other))) await rm(join(this.#folder, other), { force: true })
  }

  #kept(all: readonly Snapshot[]): Snapshot[] {
    const { epochsPerDay, daysKept } = this.#options
    const dayOf = ({ epoch }: Snapshot) => chainDayOf({ epochsPerDay }, epoch)
    const newest = all.at(-1)
    const lastOfDays = [...Map.groupBy(all, dayOf).values()].map((ofDay) => ofDay.at(-1) as Snapshot)
    const recent = lastOfDays.filter((snapshot) => newest && dayOf(snapshot) >= dayOf(newest) - daysKept)
    return [...recent, ...all.slice(-newestKept)]
  }
}
