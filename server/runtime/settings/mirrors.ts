// Settings of copies of the data in other databases, for analysis.
import { PatternText, withDefault } from '#api/contract/kit.ts'
import { boolean, section } from './server.ts'

export const mirrorsSettings = section(
  {
    clickhouse: section(
      {
        url: withDefault(
          PatternText(
            '^$|^https?://[^\\s/?#]+(/[A-Za-z_][A-Za-z0-9_]*)?/?$',
            'be http://user:password@host:8123/database',
            {
              description:
                'HTTP interface of ClickHouse and the database that gets the tables, `http://user:password@host:8123/database`. ' +
                'The database must exist. Empty: no mirror.',
            },
          ),
          '',
        ),
        hours: boolean(true, 'Send hours as well as days. Hours are 25 times as many rows.'),
      },
      'Copy of validator duties in ClickHouse.',
    ),
  },
  'Copies of the data for analysis. Responses never come from them.',
)
