// The calls that `tetrad serve` prints for the demo data, as requests.

/** With the printed key in place of the variable. */
export function readPrintedCalls(printed: string): readonly Request[] {
  const key = /^export TETRAD_KEY='(.+)'$/m.exec(printed)?.[1] ?? ''
  const calls = printed
    .replaceAll('$TETRAD_KEY', key)
    .matchAll(/^curl -s (?<quote>['"])(?<url>.+?)\k<quote>(?<options>.*)$/gm)
  return [...calls].map(({ groups: { url = '', options = '' } = {} }) => {
    const headers = options.matchAll(/ -H (['"])(?<name>[^:]+): (?<value>.+?)\1/g)
    const body = / -d '(.+)'$/.exec(options)?.[1]
    return new Request(url, {
      headers: [...headers].map(({ groups: { name = '', value = '' } = {} }) => [name, value] as [string, string]),
      ...(body !== undefined && { method: 'POST', body }),
    })
  })
}
