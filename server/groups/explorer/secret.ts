// The secret behind download links: made once, kept in the store, so that links outlive a restart and hold in every
// process that shares the store.

import type { StateWriter } from '#store/state.ts'
import type { ExplorerContext } from './context.ts'

const name = 'label-links'
const read = 'select secret from explorer_secrets where name = ?'

export async function linkSecret({ state, random, explorer }: ExplorerContext): Promise<Uint8Array> {
  if (explorer.linkSecret) return explorer.linkSecret
  const stored = await state.get<{ secret: Uint8Array }>(read, name)
  const secret = stored?.secret ?? (await state.write((tx) => firstSecret(tx, random.bytes(32))))
  explorer.linkSecret = secret
  return secret
}

/** Whoever comes second gets the first one's. */
async function firstSecret(tx: StateWriter, fresh: Uint8Array): Promise<Uint8Array> {
  await tx.run('insert into explorer_secrets (name, secret) values (?, ?) on conflict (name) do nothing', name, fresh)
  const stored = await tx.get<{ secret: Uint8Array }>(read, name)
  return stored?.secret ?? fresh
}
