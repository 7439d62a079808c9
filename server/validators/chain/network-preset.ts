// Sets the constants of a network in the library, from the list of a node (`/eth/v1/config/spec`). This must happen before
// anything else of the library is imported: its types have these constants as lengths.
import { PresetName, presetFromJson, setActivePreset } from '@lodestar/params/setPreset'

type Spec = Readonly<Record<string, unknown>>

/** The preset that the network is based on. All other constants are overrides. */
export const presetOf = (spec: Spec): PresetName =>
  Object.values(PresetName).find((name) => name === spec.PRESET_BASE) ?? PresetName.mainnet

export function setPreset(spec: Spec): void {
  const listed = Object.entries(spec).filter(([, value]) => typeof value === 'string')
  setActivePreset(presetOf(spec), presetFromJson(Object.fromEntries(listed)))
}
