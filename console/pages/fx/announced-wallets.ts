// Reads the announcements of wallets (EIP-6963). Any script of the page can send one, so their number and texts are limited.

/** EIP-1193. */
export interface Provider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>
}

export interface Wallet {
  readonly id: string
  readonly name: string
  readonly provider: Provider
}

const walletsMax = 20
const nameChars = 40

/** Undefined if the announcement is not complete. */
export function parseAnnouncement(detail: unknown): Wallet | undefined {
  const { info, provider } = (detail ?? {}) as { info?: Record<string, unknown>; provider?: Partial<Provider> }
  const { uuid, name } = info ?? {}
  if (typeof uuid !== 'string' || typeof name !== 'string' || typeof provider?.request !== 'function') return undefined
  return { id: uuid, name: name.trim().slice(0, nameChars) || 'Wallet without a name', provider: provider as Provider }
}

/** Wallets announce themselves several times. Two wallets with one name get numbers. */
export function addWallet(known: readonly Wallet[], wallet: Wallet): readonly Wallet[] {
  if (known.length >= walletsMax || known.some(({ id }) => id === wallet.id)) return known
  const names = new Set(known.map(({ name }) => name))
  let name = wallet.name
  for (let number = 2; names.has(name); number += 1) name = `${wallet.name} ${number}`
  return [...known, { ...wallet, name }]
}
