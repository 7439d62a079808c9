// The built client, which the tests of both npm packages use.
import { buildApi } from '#api/build.ts'
import { runName, templateOf } from './template.ts'

/** Returns the folder `dist` of the client. It is built once per test run. */
export const builtApi = (): Promise<string> => templateOf(`api-${runName}`, buildApi)
