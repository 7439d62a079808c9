// The options that every command takes, and how they become settings and a data folder.
import type { Command } from 'commander'
import type { Config, Flag } from '#io/config.ts'

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

export async function configOf(options: CommonOptions, flags: readonly Flag[] = []): Promise<Config> {
  const { loadConfig } = await import('#io/config.ts')
  return loadConfig({ file: options.config, env: process.env, flags })
}
