// The options that every command takes, and how they become settings and a data folder.
import type { Command } from 'commander'
import type { Config, Flag } from '#runtime/config.ts'
import { CommandFailure } from './failure.ts'

export interface CommonOptions {
  readonly config?: string
  readonly data?: string
  readonly json?: boolean
}

export const commonOptions = (program: Command): Command =>
  program
    .option('--config <file>', 'configuration file (default: tetrad.yaml, if there is one)')
    .option('--data <dir>', 'data folder (default: ./data)')
    .option('--json', 'print JSON, for scripts')

export const dataDirOf = (options: CommonOptions): string => options.data ?? (process.env.TETRAD_DATA || 'data')

/** Where a running server is asked, unless --url says so. */
export async function addressOf(options: CommonOptions & { url?: string }): Promise<string> {
  const given = options.url ?? (process.env.TETRAD_URL || undefined)
  if (given !== undefined) return httpAddress(given)
  const { host, port } = (await configOf(options)).settings.server
  return `http://${hostInUrl(host)}:${port}`
}

/** What a person types as an address, most often without its beginning. */
export function httpAddress(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text
  const better = URL.parse(`http://${text}`) ? `; write http://${text} or https://${text}` : ''
  throw new CommandFailure('address.invalid', `${text} is no http or https address${better}.`)
}

/** An address that listens on all of the machine's is reached on loopback. */
function hostInUrl(host: string): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return reachable.includes(':') ? `[${reachable}]` : reachable
}

export async function configOf(options: CommonOptions, flags: readonly Flag[] = []): Promise<Config> {
  const { loadConfig } = await import('#runtime/config.ts')
  return loadConfig({ file: options.config, env: process.env, flags })
}
