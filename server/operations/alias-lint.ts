// Warns about aliases without effect: a header that no endpoint reads, or a field that no response has, renamed or hidden. They are valid,
// because a response may have fields that the contract does not list, but they are probably spelling errors.
import { openapi } from '#api/openapi.ts'
import { allRoutes } from '#api/routes.ts'
import type { Settings } from '#runtime/settings.ts'
import { type DoctorFinding, warnFinding } from './diagnosis.ts'

/** Headers that the HTTP server reads for every endpoint. */
const serverHeaders = ['authorization', 'content-type', 'accept-encoding', 'if-none-match', 'x-request-id']

export function aliasFindings({
  requestHeaders,
  responseFields,
  hiddenFields,
}: Settings['aliases']): readonly DoctorFinding[] {
  const inputs = Object.values(allRoutes).flatMap(({ headers }) => Object.values(headers ?? {}))
  const knownHeaders = new Set([...serverHeaders, ...inputs])
  const unusedHeaders = Object.entries(requestHeaders).filter(([, to]) => !knownHeaders.has(to.toLowerCase()))
  const fields = Object.keys(responseFields)
  const knownFields = fields.length + hiddenFields.length > 0 ? fieldsIn(openapi()) : new Set()
  const unusedFields = fields.filter((name) => !knownFields.has(name))
  const warn = (setting: string, message: string) => warnFinding(`aliases.${setting}`, message, 'check the spelling')
  return [
    ...unusedHeaders.map(([from, to]) =>
      warn(`requestHeaders.${from}`, `is renamed to ${to}, which no endpoint reads`),
    ),
    ...unusedFields.map((name) => warn(`responseFields.${name}`, 'renames a field that no response has')),
    ...hiddenFields
      .filter((name) => !knownFields.has(name))
      .map((name) => warn('hiddenFields', `hides ${name}, which no response has`)),
  ]
}

function fieldsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found
  for (const [name, inner] of Object.entries(value)) {
    if (name === 'properties' && typeof inner === 'object') for (const field of Object.keys(inner)) found.add(field)
    fieldsIn(inner, found)
  }
  return found
}
