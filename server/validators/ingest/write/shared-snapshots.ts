// Shares the snapshots of a network between servers with one PostgreSQL database. A server that takes over the network
// continues from the newest one, although it has no folder in common with the server before.
//
// 1. Only the holder of the lease stores and restores. Each transaction checks the lease (ingest/lease.ts, rule 3), so a
//    former holder cannot replace the snapshot of its successor.
// 2. One snapshot of each network is stored. It is replaced once per chain day, when all parts of the new one are there.
// 3. The root of a restored state is verified when it is loaded, like that of every snapshot.
import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import type { Network } from '#api/contract/wire/validators.ts'
import { chainDayOf } from '#core/chain-time.ts'
import { failureFields } from '#runtime/failure-fields.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { State } from '#storage/state.ts'
import { listSnapshots, snapshotFile } from '../../chain/snapshots.ts'
import type { ValidatorsContext } from '../../context.ts'

const partBytes = 1024 * 1024

export interface SharedSnapshotsOptions {
  readonly ingest: State
  readonly network: Network
  /** The folder of the snapshots of this server. */
  readonly folder: string
  readonly epochsPerDay: number
}

interface StoredSnapshot {
  readonly epoch: number
  readonly stateRoot: string
  readonly parts: number
}

const findStored = (ingest: State, network: Network): Promise<StoredSnapshot | undefined> =>
  ingest.get<StoredSnapshot>(
    'select epoch, state_root as "stateRoot", parts from chain_snapshots where network = ?',
    network,
  )

/** Stores the newest snapshot of this server if it is of a later day than the stored one. Returns whether it was stored. */
export async function storeSnapshot(
  { ingest, network, folder, epochsPerDay }: SharedSnapshotsOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const newest = (await listSnapshots(folder)).at(-1)
  const stored = await findStored(ingest, network)
  const dayOf = (snapshot: { readonly epoch: number }) => chainDayOf({ epochsPerDay }, snapshot.epoch)
  if (!newest || (stored && dayOf(newest) <= dayOf(stored))) return false
  const { epoch, stateRoot } = newest
  // Later snapshots may delete the file meanwhile, but not what is open.
  await using file = await open(newest.file)
  const deleteOthers = 'delete from chain_snapshot_parts where network = ? and epoch <> ?'
  await ingest.write((tx) => tx.run(deleteOthers, network, stored?.epoch ?? -1))
  let parts = 0
  for await (const content of readParts(file)) {
    signal.throwIfAborted()
    const values = [network, epoch, parts++, content]
    await ingest.write((tx) =>
      tx.run('insert into chain_snapshot_parts (network, epoch, part, content) values (?, ?, ?, ?)', ...values),
    )
  }
  await ingest.write(async (tx) => {
    await tx.run(
      `insert into chain_snapshots (network, epoch, state_root, parts) values (?, ?, ?, ?)
       on conflict (network) do update
       set epoch = excluded.epoch, state_root = excluded.state_root, parts = excluded.parts`,
      ...[network, epoch, stateRoot, parts],
    )
    await tx.run(deleteOthers, network, epoch)
  })
  return true
}

async function* readParts(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(partBytes), 0, partBytes)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}

/** Copies the stored snapshot to the folder if it is newer than those there. Returns whether it was copied. */
export async function restoreSnapshot(
  { ingest, network, folder }: Omit<SharedSnapshotsOptions, 'epochsPerDay'>,
  signal: AbortSignal,
): Promise<boolean> {
  const stored = await findStored(ingest, network)
  const newest = (await listSnapshots(folder)).at(-1)
  if (!stored || (newest && newest.epoch >= stored.epoch)) return false
  await mkdir(folder, { recursive: true })
  const file = snapshotFile(folder, stored.epoch, stored.stateRoot)
  const temporary = `${file}.${randomUUID()}.tmp`
  try {
    {
      await using handle = await open(temporary, 'wx', 0o600)
      for (let part = 0; part < stored.parts; part++) {
        signal.throwIfAborted()
        const row = await ingest.get<{ readonly content: Uint8Array }>(
          'select content from chain_snapshot_parts where network = ? and epoch = ? and part = ?',
          ...[network, stored.epoch, part],
        )
        // Another server has replaced it: this one does not have the lease any more.
        if (!row) return false
        await handle.writeFile(row.content)
      }
      await handle.sync()
    }
    await rename(temporary, file)
    return true
  } finally {
    await rm(temporary, { force: true })
  }
}

export interface SharedSnapshots {
  /** Does nothing after it has succeeded. */
  restore(signal: AbortSignal): Promise<void>
  /** Begins to store the newest snapshot, unless that is still running. A failure is logged and does not stop the ingest. */
  store(): void
  /** Waits for `store`. */
  ended(): Promise<void>
}

/** Undefined: there are no snapshots to share, because the server does not use PostgreSQL or reads states from nodes. */
export function openSharedSnapshots(
  { ingest, settings, log }: Pick<ValidatorsContext, 'ingest' | 'settings' | 'log'>,
  network: Network,
  folder: string | undefined,
  signal: AbortSignal,
): SharedSnapshots | undefined {
  const { states, epochsPerDay } = networkSettings(settings, network)
  if (ingest.engine !== 'postgres' || states === 'node' || folder === undefined) return undefined
  const options = { ingest, network, folder, epochsPerDay }
  let isRestored = false
  let storing: Promise<void> | undefined
  const store = async () => {
    try {
      if (await storeSnapshot(options, signal)) log.info({ network }, 'snapshot stored in PostgreSQL')
    } catch (error) {
      if (!signal.aborted)
        log.warn({ network, ...failureFields(error) }, 'snapshot not stored in PostgreSQL; will retry')
    }
  }
  return {
    async restore(stop) {
      if (isRestored) return
      if (await restoreSnapshot(options, stop)) log.info({ network }, 'snapshot copied from PostgreSQL')
      isRestored = true
    },
    store() {
      storing ??= store().finally(() => {
        storing = undefined
      })
    },
    ended: async () => storing,
  }
}
