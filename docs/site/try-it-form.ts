// The form of an endpoint page that calls the endpoint. browser/try-it.ts sends it.
import { type Endpoint, isRequired } from '#api/contract/kit.ts'
import { type AnyId, inputLocation } from '#api/contract/routes.ts'
import type { JsonSchema } from '#api/contract/schema.ts'
import { escapeHtml } from './escape-html.ts'
import { exampleServer } from './site-map.ts'

export const tryItAnchor = 'try-it'

export function renderTryItForm(endpoint: Endpoint): string {
  const inputs = Object.entries(endpoint.input.properties as Record<string, JsonSchema>)
  const example = endpoint.example.input as Readonly<Record<string, unknown>>
  const fields = inputs
    .filter(([name]) => inputLocation(endpoint, name) !== 'body')
    .map(([name, schema]) => renderField(endpoint, name, schema, example[name]))
  const body = Object.fromEntries(Object.entries(example).filter(([name]) => inputLocation(endpoint, name) === 'body'))
  const hasBody = inputs.some(([name]) => inputLocation(endpoint, name) === 'body')
  return `<section class="js-only" aria-labelledby="${tryItAnchor}">
<h2 id="${tryItAnchor}">Try it</h2>
<form class="card try-it" data-endpoint="${endpoint.id satisfies AnyId}">
<p class="demo" role="note" hidden><strong>Demo data.</strong> All names, prices and ratings are generated.</p>
<div class="row">
<label class="field wide server">Server<input class="mono" name=":server" value="${exampleServer}"></label>
${fields.join('')}</div>
${hasBody ? `<label class="field">Body (JSON)<textarea name=":body" rows="10" spellcheck="false">${escapeHtml(JSON.stringify(body, null, 2))}</textarea></label>\n` : ''}${endpoint.auth === 'open' ? '' : keyField}${
  endpoint.stream
    ? '<p class="soft">This endpoint is a stream. Run one of the samples below.</p>'
    : '<p class="row"><button type="submit" class="main">Send</button></p>'
}
<div class="result"></div>
</form>
</section>
`
}

const keyField = `<div class="row"><label class="field wide">API key<input class="mono" name=":key" type="password" autocomplete="off" placeholder="tetrad:&lt;id&gt;:&lt;secret&gt;" required></label>
<button type="button" class="demo-key" hidden>Use the demo key</button></div>
`

function renderField(endpoint: Endpoint, name: string, schema: JsonSchema, example: unknown): string {
  const mustBeSent = isRequired(endpoint, name)
  const types = [schema.type ?? []].flat()
  const isList = types.includes('array')
  const choices = schema.enum ?? (types.includes('boolean') ? [true, false] : undefined)
  const value = example === undefined ? '' : [example].flat().join(',')
  const isWide = isList || inputLocation(endpoint, name) === 'path'
  const type = [(isList ? schema.items?.type : schema.type) ?? ''].flat()[0]
  const attributes = `name="${name}" data-type="${type}"${isList ? ' data-list' : ''}${mustBeSent ? ' required' : ''}`
  const control = choices
    ? `<select ${attributes}><option value="">–</option>${choices
        .map((choice) => `<option${String(choice) === value ? ' selected' : ''}>${escapeHtml(String(choice))}</option>`)
        .join('')}</select>`
    : `<input class="mono" ${attributes} value="${escapeHtml(value)}" placeholder="${escapeHtml(schema.default === undefined ? '' : String(schema.default))}">`
  const label = `${endpoint.headers?.[name] ?? name}${mustBeSent ? ' (required)' : ''}`
  return `<label class="field${isWide ? ' wide' : ''}">${escapeHtml(label)}${control}</label>\n`
}
