// Options that all commands share, and the settings and data folder they lead to.
import type { Command } from 'commander'
import type { Config, Flag } from '#runtime/config.ts'
import { UsageFailure } from './failure.ts'

export interface CommonOptions {
  readonly config?: string
  readonly data?: string
  readonly json?: boolean
}

export const commonOptions = (program: Command): Command =>
  program
    .option('--config <file>', 'configuration file (default: tetrad.yaml, if it exists)')
    .option('--data <dir>', 'data folder (default: store.dir of the configuration, ./data)')
    .option('--json', 'print JSON')

const defaultDataDir = 'data'

/** Before each command: without --data and TETRAD_DATA, the data folder is the one of the configuration. */
export async function useConfiguredData(command: Command): Promise<void> {
  const options = command.optsWithGlobals<CommonOptions>()
  if (options.data !== undefined || process.env.TETRAD_DATA) return
  // The command reports a configuration that is not valid, if it needs one.
  const config = await configOf(options).catch(() => undefined)
  if (config) command.setOptionValueWithSource('data', config.settings.store.dir, 'config')
}

export const dataDirOf = (options: CommonOptions): string => options.data ?? (process.env.TETRAD_DATA || defaultDataDir)

/** URL of the server: --url, TETRAD_URL, where the server on the data folder listens, or the configured address. */
export async function addressOf(options: CommonOptions & { url?: string }): Promise<string> {
  const url = options.url ?? (process.env.TETRAD_URL || undefined)
  if (url !== undefined) return httpAddress(url)
  const listening = await listeningAt(options)
  if (listening !== undefined) return listening
  const { host, port } = (await configOf(options)).settings.server
  return `http://${hostInUrl(host)}:${port}`
}

/** The running server may have been started with another address than the configuration's. */
async function listeningAt(options: CommonOptions): Promise<string | undefined> {
  const { callControl } = await import('#runtime/control-socket.ts')
  // A server of another user, or one that does not respond, can still be called at the configured address.
  const reply = await callControl(dataDirOf(options), 'status').catch(() => undefined)
  return (reply?.result as { readonly url?: string } | undefined)?.url
}

export function httpAddress(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text
  const suggestion =
    !text.includes('://') && URL.parse(`http://${text}`) ? `. Write http://${text} or https://${text}` : ''
  throw new UsageFailure('address.invalid', `${text} is not an http or https URL${suggestion}.`)
}

/** A server that listens on all addresses is reached on loopback. */
function hostInUrl(host: string): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return reachable.includes(':') ? `[${reachable}]` : reachable
}

export async function configOf(options: CommonOptions, flags: readonly Flag[] = []): Promise<Config> {
  const { loadConfig } = await import('#runtime/config.ts')
  return loadConfig({ file: options.config, env: process.env, flags })
}
