// Options that the commands about labels share.
import { userInfo } from 'node:os'
import { InvalidArgumentError, Option } from 'commander'
import type { Author } from '#explorer/labels/history.ts'
import { integerBetween } from './parse-integer.ts'
import { note } from './print.ts'
import { clock } from './runtime.ts'
import { type CommonOptions, configOf } from './settings.ts'

/** An argument is either an address or a slug. */
export async function subjectOf(text: string): Promise<{ slug: string; address: string | undefined }> {
  const { isAddress } = await import('#explorer/labels/parse-record.ts')
  const lower = text.toLowerCase()
  return isAddress(text) ? { slug: '', address: lower } : { slug: lower, address: undefined }
}

export const chainOption = (description: string): Option =>
  new Option('--chain <list>', description).argParser(chainsOf)

export function chainsOf(text: string): string[] {
  return text.split(',').map((id) => oneChain(id.trim()))
}

export function oneChain(text: string): string {
  if (!/^[1-9]\d{0,18}$/.test(text)) throw new InvalidArgumentError('It must be a chain id, such as 1.')
  return text
}

export const parsePercent = integerBetween(0, 100)

/** Labels of a chain that is not configured are stored, but the chain id may be a mistake. */
export async function warnUnservedChains(options: CommonOptions, chains: readonly string[]): Promise<void> {
  const served = (await configOf(options)).settings.explorer.chains.map(({ id }) => id)
  const others = chains.filter((chain) => !served.includes(chain))
  if (others.length === 0) return
  const some = others.length > othersShown ? [...others.slice(0, othersShown), '…'] : others
  note(`Stored, but not served: chain ${some.join(', ')} is not configured (explorer.chains: ${served.join(', ')}).`)
}

const othersShown = 10

export async function authorOf(options: { readonly by?: string }, via: string): Promise<Author> {
  return { by: options.by ?? userInfo().username, via, atMs: clock.now() }
}
