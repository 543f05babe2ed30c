// Stands in for VS Code's compiled log module in the tests: writes the same log files.
// Each export is an assignment of its own, because VS Code imports them by name from an ES module.
const fs = require('node:fs');
const path = require('node:path');

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'critical'];
const OFF = LEVELS.length;

class Logger {
    constructor(file) {
        this.file = file;
        this.level = LEVELS.indexOf('info');
        this.plain = false;
    }

    write(level, message) {
        if (level < this.level || level >= OFF) {
            return;
        }
        const line = this.plain ? message : `${new Date().toISOString()} [${LEVELS[level]}] ${message}\n`;
        try {
            fs.appendFileSync(this.file, line);
        } catch {
            // A log that cannot be written must not fail what is logged.
        }
    }

    getLevel() {
        return this.level;
    }

    setLevel(level) {
        this.level = level;
    }

    clearFormatters() {
        this.plain = true;
    }

    setPattern() {}
    flush() {}
    drop() {}
}
LEVELS.forEach((name, level) => {
    Logger.prototype[name] = function (message) {
        this.write(level, message);
    };
});

async function create(_name, file) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    return new Logger(file);
}

exports.version = 0;
exports.setLevel = () => {};
exports.setFlushOn = () => {};
exports.Logger = Logger;
exports.createRotatingLogger = create;
exports.createAsyncRotatingLogger = create;
