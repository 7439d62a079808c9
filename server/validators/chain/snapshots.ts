// The snapshots of a network: states at the start of final epochs, in a folder. After a restart, the chain process continues
// from one of them instead of asking a node for a state.
//
// 1. The two newest are kept, and the first one of each of the last days, so that recent days can be computed again.
// 2. A file is complete or absent (`saveState`). Its name has the epoch and the state root, which is verified when the
//    state is loaded. A file that cannot be loaded is deleted.
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type ChainCaller, ChainProcessError } from './chain-process.ts'
import type { EpochStartId, LoadedState, Root } from './messages.ts'

const newestKept = 2
const nameOf = /^(\d{1,16})-([0-9a-f]{64})\.ssz\.zst$/

interface Snapshot {
  readonly epoch: number
  readonly stateRoot: Root
  readonly file: string
}

export class Snapshots {
  readonly #folder: string
  readonly #epochsPerDay: number
  readonly #daysKept: number

  constructor(
    folder: string,
    { epochsPerDay, daysKept }: { readonly epochsPerDay: number; readonly daysKept: number },
  ) {
    this.#folder = folder
    this.#epochsPerDay = epochsPerDay
    this.#daysKept = daysKept
  }

  /** Oldest first. */
  async list(): Promise<Snapshot[]> {
    const names = await readdir(this.#folder).catch(() => [])
    const found = names.flatMap((name): Snapshot[] => {
      const [, epoch, root] = nameOf.exec(name) ?? []
      return root ? [{ epoch: Number(epoch), stateRoot: `0x${root}`, file: join(this.#folder, name) }] : []
    })
    return found.sort((a, b) => a.epoch - b.epoch)
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

  /** A file for a state from elsewhere. It is deleted with the next snapshot. */
  async fileFor(name: string): Promise<string> {
    await mkdir(this.#folder, { recursive: true })
    return join(this.#folder, `${name}.ssz`)
  }

  /** Saves an epoch start, and deletes what is not kept. */
  async save(process: ChainCaller, id: EpochStartId, stateRoot: Root): Promise<void> {
    await mkdir(this.#folder, { recursive: true })
    const name = `${id.epoch}-${stateRoot.slice(2)}.ssz.zst`
    await process.call('saveState', { ...id, file: join(this.#folder, name) })
    const kept = new Set(this.#kept(await this.list()).map(({ file }) => file))
    for (const other of await readdir(this.#folder))
      if (!kept.has(join(this.#folder, other))) await rm(join(this.#folder, other), { force: true })
  }

  #kept(all: readonly Snapshot[]): Snapshot[] {
    const dayOf = ({ epoch }: Snapshot) => Math.floor(epoch / this.#epochsPerDay)
    const newest = all.at(-1)
    const firstOfDays = [...Map.groupBy(all, dayOf).values()].map(([first]) => first as Snapshot)
    const recent = firstOfDays.filter((snapshot) => newest && dayOf(snapshot) > dayOf(newest) - this.#daysKept)
    return [...recent, ...all.slice(-newestKept)]
  }
}
