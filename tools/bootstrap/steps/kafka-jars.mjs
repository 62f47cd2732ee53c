import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { retrying, run } from '../process.mjs';
import { versions } from '../versions.mjs';

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>espalier</groupId>
  <artifactId>embedded-kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_${versions.scala}</artifactId>
      <version>${versions.kafka}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-simple</artifactId>
      <version>${versions.slf4j}</version>
    </dependency>
  </dependencies>
</project>
`;

/** Apache Kafka's jars through Maven, into `.espalier/cache/kafka-VERSION/libs`; complete or not there at all. */
export const kafkaJars = {
  title: `Kafka ${versions.kafka}`,
  async run({ root, log }) {
    const home = join(root, '.espalier', 'cache', `kafka-${versions.kafka}`);
    const libs = join(home, 'libs');
    if (existsSync(libs)) return 'present';
    const partial = join(home, `libs.${process.pid}`);
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'pom.xml'), pom);
    await retrying(3, () => {
      rmSync(partial, { recursive: true, force: true });
      return run(
        'mvn',
        [
          '-q',
          '-B',
          '-f',
          join(home, 'pom.xml'),
          'dependency:copy-dependencies',
          `-DoutputDirectory=${partial}`,
          '-DincludeScope=runtime',
        ],
        { cwd: home, log },
      );
    });
    try {
      renameSync(partial, libs);
    } catch (error) {
      if (!existsSync(libs)) throw error; // else another setup was faster
      rmSync(partial, { recursive: true, force: true });
    }
    return 'downloaded';
  },
};
