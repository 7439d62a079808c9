// The secret that signs download links. It is stored, so that links survive a restart and work on every server of the
// same database.

import type { ExplorerContext } from '#explorer/context.ts'
import type { Context } from '#http/context.ts'
import type { StateWriter } from '#storage/state.ts'

const secretName = 'label-links'
const selectSecret = 'select secret from explorer_secrets where name = ?'

export type LinkContext = ExplorerContext & Pick<Context, 'state'>

export async function getLinkSecret({ state, random, explorer }: LinkContext): Promise<Uint8Array> {
  if (explorer.linkSecret) return explorer.linkSecret
  const stored = await state.get<{ secret: Uint8Array }>(selectSecret, secretName)
  const secret = stored?.secret ?? (await state.write((tx) => createSecret(tx, random.bytes(32))))
  explorer.linkSecret = secret
  return secret
}

/** If two processes create a secret, both use the first one. */
async function createSecret(tx: StateWriter, fresh: Uint8Array): Promise<Uint8Array> {
  const sql = 'insert into explorer_secrets (name, secret) values (?, ?) on conflict (name) do nothing'
  await tx.run(sql, secretName, fresh)
  const stored = await tx.get<{ secret: Uint8Array }>(selectSecret, secretName)
  return stored?.secret ?? fresh
}
