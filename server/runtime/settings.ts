// The schema of all settings with defaults. It validates the configuration, and is the source of the JSON Schema for
// editors and of docs/configuration.md.
import type { Static } from '#api/contract/kit.ts'
import { explorerSettings } from './settings/explorer.ts'
import { fxSettings } from './settings/fx.ts'
import { marketsSettings } from './settings/markets.ts'
import { mirrorsSettings } from './settings/mirrors.ts'
import { retentionSettings } from './settings/retention.ts'
import {
  aliasesSettings,
  consoleSettings,
  groupsSettings,
  ingestSettings,
  keysSettings,
  limitsSetting,
  logSettings,
  mcpSettings,
  object,
  plansSettings,
  serverSettings,
} from './settings/server.ts'
import { storeSettings } from './settings/store.ts'
import { validatorsSettings } from './settings/validators.ts'

export const SettingsSchema = object(
  {
    server: serverSettings,
    log: logSettings,
    console: consoleSettings,
    mcp: mcpSettings,
    groups: groupsSettings,
    aliases: aliasesSettings,
    plans: plansSettings,
    limits: limitsSetting,
    keys: keysSettings,
    explorer: explorerSettings,
    fx: fxSettings,
    validators: validatorsSettings,
    markets: marketsSettings,
    retention: retentionSettings,
    store: storeSettings,
    mirrors: mirrorsSettings,
    ingest: ingestSettings,
  },
  { description: 'Configuration of Tetrad (tetrad.yaml).' },
)

export type Settings = Static<typeof SettingsSchema>
